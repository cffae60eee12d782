"""Two texts: docs/conformance.md with the rules of each reference, and the list of the tests of each rule.

The page has one row for each section of a reference, and for each of our own rules. The list has every rule
and every test; it is a build artefact, because each renamed test would change a committed page.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tests.conformance.markers import ROOT, Proof
from tests.conformance.register import REFERENCES
from tests.conformance.rule import Rule, Section

PAGE = ROOT / "docs" / "conformance.md"
PROOFS = ROOT / "dist" / "conformance-tests.txt"

_INTRODUCTION = """\
# Conformance

To find the tests of a rule, run `make conformance` and read `dist/conformance-tests.txt`. The whole text of a
rule is in `tests/conformance/`. Code and pages cite rules as `NHC 2.1/13`, `MHC A.2.3/1`, `CAPI B.2.7/clock`
or `rule 14`, and decisions as `ADR 15` ([decisions](decisions/)). A test rejects an unknown id.

Each row is a section of a reference or one of our own rules. It says what Paramedic does, and which folder
has most of the tests. Where our own rule differs from a reference, our rule holds. Other pages explain the
differences: [NodeHealthCheck](switching.md#what-is-different-on-purpose),
[OpenShift](machinehealthcheck-openshift.md#what-is-different-on-purpose),
[Cluster API](cluster-api.md#what-is-different-on-purpose).

`make test` fails for a rule without a test. A test names its rules by `@pytest.mark.rule("NHC 2.1/13")`.
`make conformance` also writes this page: do not edit it.
"""
_HEAD = "| rule | what Paramedic does | tests |\n|---|---|---|"


def proving_tests(proofs: Iterable[Proof]) -> dict[str, list[str]]:
    """Return the tests of each rule that has any."""
    found: dict[str, list[str]] = {}
    for proof in proofs:
        for rule in proof.rules:
            found.setdefault(rule, []).append(proof.test)
    return found


def without_tests(rules: Sequence[Rule], proofs: Sequence[Proof]) -> list[str]:
    """Return the rules that need a test and have none, as `id: sentence`."""
    proved = proving_tests(proofs)
    return [f"{rule.id}: {rule.does}" for rule in rules if not rule.not_applicable and rule.id not in proved]


def page(proofs: Sequence[Proof], references: Mapping[str, Sequence[Section]] = REFERENCES) -> str:
    proved = proving_tests(proofs)
    lines = [_INTRODUCTION]
    for heading, sections in references.items():
        lines += [
            f"## {heading}",
            _HEAD,
            *(row for section in sections for row in _rows(section, proved)),
            "",
        ]
    return "\n".join(lines)


def list_of_tests(rules: Sequence[Rule], proofs: Sequence[Proof]) -> str:
    """Return the tests of each rule; a rule without tests has only its sentence."""
    proved = proving_tests(proofs)
    lines = (line for rule in rules for line in _proof(rule, proved.get(rule.id, ())))
    return "".join(f"{line}\n" for line in lines)


def _rows(section: Section, proved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    rules = list(section.rules())
    if section.does is not None:
        yield _row(section.prefix.rstrip("/ "), section.does, rules, proved)
        return
    for rule in rules:
        if "/" not in rule.id:
            parts = [one for one in rules if one.id == rule.id or one.id.startswith(f"{rule.id}/")]
            yield _row(rule.id, rule.does, parts, proved)


def _row(name: str, does: str, rules: Iterable[Rule], proved: Mapping[str, Sequence[str]]) -> str:
    """Return a row with the folder that tests most of these rules, the first by name among equals."""
    folders = Counter(
        folder
        for rule in rules
        for folder in {PurePosixPath(test.partition("::")[0]).parent for test in proved.get(rule.id, ())}
    )
    if not folders:
        return f"| {name} | {does} | none |"
    folder = min(folders, key=lambda one: (-folders[one], one)).as_posix()
    return f"| {name} | {does} | [{folder.removeprefix('tests/')}](../{folder}/) |"


def _proof(rule: Rule, tests: Sequence[str]) -> Iterator[str]:
    yield f"{rule.id}: {rule.does}"
    yield from (f"  {test}" for test in tests)
