"""Citations are checked in this repository, and in a sample with an unknown one."""

from pathlib import Path

import pytest

from tests.conformance.citations import all_complaints, complaints, standing, texts

STANDS = standing(
    [
        "rule 4",
        "rule 14/deleted request",
        "NHC 2.1/13",
        "NHC 2.4/2/none left",
        "MHC A.2.3/1",
        "CAPI B.2.3/startup",
    ],
    [Path("0015-ordinary-activities.md")],
)


def test_everything_that_is_cited_stands_somewhere() -> None:
    assert not all_complaints(), "cite ids of docs/conformance.md or ADRs:\n" + "\n".join(all_complaints())


def test_code_pages_manifests_and_settings_are_read() -> None:
    read = {path for path, _ in texts()}

    assert {"README.md", "docs/architecture.md", "docs/decisions/0015-ordinary-activities.md"} <= read
    assert {"health/runbook/decide.py", "tests/conformance/page.py"} <= read
    assert {"deploy/base/rbac/worker.yaml", ".importlinter", "Makefile", "pyproject.toml"} <= read


@pytest.mark.parametrize(
    "text",
    [
        "it is told once (rule 4, NHC 2.1/13)",
        "Rules 4 and 14: a request that somebody deleted",
        "rule 14/deleted request",
        "a section (NHC 2.1), a part (NHC 2), a row with words (NHC 2.4/2/none left)",
        "MHC A.2.3/1, CAPI B.2.3/startup, ADR 15",
        "    # over the end of a line (rule\n    # 4), NHC\n2.1/13",
        "rules of which 5 are ours; version 2.1, 1.5 s",
    ],
)
def test_id_that_stands_is_accepted(text: str) -> None:
    assert complaints(text, STANDS) == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        pytest.param("(rule 5)", ["1: rule 5"], id="a rule that there is not"),
        pytest.param("(rules 4, 5 and 6)", ["1: rule 5", "1: rule 6"], id="one of several"),
        pytest.param("rules 1 to 4", ["1: rule 1"], id="the end of a range"),
        pytest.param("rule 4/reset", ["1: rule 4/reset"], id="a row of a rule"),
        pytest.param("NHC 2.1/1", ["1: NHC 2.1/1"], id="the beginning of a number"),
        pytest.param("\n\nas of MHC A.2.4", ["3: MHC A.2.4"], id="a section"),
        pytest.param("ADR 16", ["1: ADR 16"], id="a page of decisions"),
        pytest.param("(rule\n    # 5)", ["1: rule 5"], id="over the end of a line"),
        pytest.param("(semantics 2.1/13)", ["1: emantics", "1: 2.1/13"], id="a file that is not here"),
        pytest.param("Decision 14", ["1: ecision 14"], id="a decision, which could be either"),
        pytest.param("(A.2.3)", ["1: A.2.3"], id="a section without its prefix"),
        pytest.param("(B.2.3)", ["1: B.2.3"], id="a section of another kind without its prefix"),
        pytest.param("see docs/decisions/0015", ["1: docs/decisions/0015"], id="a page by its path"),
    ],
)
def test_unknown_id_is_reported_with_its_line(text: str, refused: list[str]) -> None:
    assert complaints(text, STANDS) == refused
