"""Markers are found where they count, and refused where they do not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.markers import ROOT, MarkerError, Proof, proofs
from tests.conformance.page import list_of_tests, page, without_tests
from tests.conformance.rule import Rule, Section

MARKED = """
pytestmark = [pytest.mark.cluster, pytest.mark.rule("A")]

@pytest.mark.rule("B", "C")
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.rule("D"))])
async def test_one(x): ...

def test_two(): ...
"""


def test_test_proves_the_rules_of_its_file_and_its_own() -> None:
    assert proofs("tests/test_a.py", MARKED) == [
        Proof("tests/test_a.py::test_one", ("A", "B", "C", "D")),
        Proof("tests/test_a.py::test_two", ("A",)),
    ]


def test_test_without_a_marker_proves_nothing() -> None:
    assert proofs("tests/test_a.py", "def test_one(): ...") == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('RULE = pytest.mark.rule("A")', id="in a variable"),
        pytest.param('@pytest.mark.rule("A")\ndef helper(): ...', id="on what is no test"),
        pytest.param(
            'def test_one():\n    @pytest.mark.rule("A")\n    def test_two(): ...', id="inside a test"
        ),
    ],
)
def test_marker_that_counts_for_no_test_is_refused(source: str) -> None:
    with pytest.raises(MarkerError, match=r"^tests/test_a\.py:\d: a rule is marked on a test function"):
        proofs("tests/test_a.py", source)


def test_rule_that_is_not_written_out_is_refused() -> None:
    with pytest.raises(MarkerError, match=r"^tests/test_a\.py:1: the id of a rule is written out"):
        proofs("tests/test_a.py", "@pytest.mark.rule(RULE)\ndef test_one(): ...")


def test_rule_without_a_test_is_named_unless_it_does_not_apply() -> None:
    rules = [Rule("A", "a."), Rule("B", "b."), Rule("C", "c.", not_applicable="because.")]

    assert without_tests(rules, [Proof("t", ("A",))]) == ["B: b."]


def test_page_has_a_row_for_a_section_and_for_each_rule_of_our_own() -> None:
    proofs = [
        Proof("tests/a/test_a.py::test_one", ("X 1", "X 2")),
        Proof("tests/b/test_b.py::test_two", ("X 2", "rule 1/part")),
    ]
    sections = (
        Section("X ", "does this", {"1": "One.", "2": "Two."}),
        Section("Y ", "leaves that", {"1": "One."}, {"1": "no such thing."}),
        Section("rule ", None, {"1": "First.", "1/part": "Part."}),
    )

    assert page(proofs, {"Reference": sections}).partition("## ")[2].splitlines() == [
        "Reference",
        "| rule | what Paramedic does | tests |",
        "|---|---|---|",
        "| X | does this | [a](../tests/a/) |",
        "| Y | leaves that | none |",
        "| rule 1 | First. | [b](../tests/b/) |",
    ]


def test_list_of_proofs_names_each_test_below_its_rules() -> None:
    rules = [Rule("A", "a."), Rule("B", "b."), Rule("C", "c.")]
    of_both, of_one = (
        Proof("tests/test_a.py::test_both", ("A", "B")),
        Proof("tests/test_a.py::test_b", ("B",)),
    )

    assert list_of_tests(rules, [of_both, of_one]).splitlines() == [
        "A: a.",
        "  tests/test_a.py::test_both",
        "B: b.",
        "  tests/test_a.py::test_both",
        "  tests/test_a.py::test_b",
        "C: c.",
    ]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("NHC 9/9", "test_wrong.py::test_one: there is no rule 'NHC 9/9'"),
        ("NHC 1.7/paused", "test_wrong.py::test_one: rule 'NHC 1.7/paused' does not apply"),
    ],
)
def test_marker_that_names_no_rule_fails_the_collection(tmp_path: Path, rule: str, sentence: str) -> None:
    file = tmp_path / "test_wrong.py"
    file.write_text(f'import pytest\n\n@pytest.mark.rule("{rule}")\ndef test_one(): ...\n')
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conformance.collection",
        "--rootdir",
        str(tmp_path),
    ]
    ran = subprocess.run(  # noqa: S603  our own test of our own plugin
        [*command, str(file)], cwd=ROOT, check=False, capture_output=True, text=True
    )

    assert ran.returncode == pytest.ExitCode.INTERRUPTED
    assert sentence in ran.stdout
