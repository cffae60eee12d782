"""Two texts: docs/conformance.md with each rule, and the list of the tests that prove each rule.

The list is a build artefact, because each renamed test would change a committed page.
"""

from collections.abc import Iterator, Sequence

from tests.conformance.markers import ROOT, Proof
from tests.conformance.register import SECTIONS
from tests.conformance.rule import Rule, Section

PAGE = ROOT / "docs" / "conformance.md"
PROOFS = ROOT / "dist" / "conformance-tests.txt"

_INTRODUCTION = """\
# Conformance

This page lists the behaviour that Paramedic promises to users of NodeHealthCheck (NHC), of OpenShift's
MachineHealthCheck (MHC A) and of Cluster API's (CAPI B). `NHC 2.1/13` is a section and a row of the behaviour
of the NodeHealthCheck operator, `MHC A.2.3/1` of the machine-api-operator, and `CAPI B.2.7/clock` of Cluster
API. With a rule such as `rule 14` Paramedic decides for itself; where it differs from a row, the rule holds.

Code and pages cite these ids, and decisions as `ADR 15` ([decisions](decisions/)). A section such as
`NHC 2.1` stands for its rows. A test rejects an unknown id.

Each rule has a test with the marker `@pytest.mark.rule("NHC 2.1/13")`; `make test` fails for a rule without
one. `make conformance` writes the tests of each rule to `dist/`. It also writes this page, from the rules in
`tests/conformance/`: do not edit it.
"""


def proving_tests(proofs: Sequence[Proof]) -> dict[str, list[str]]:
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


def page(sections: Sequence[Section] = SECTIONS) -> str:
    return "\n".join([_INTRODUCTION, *(line for section in sections for line in _section(section))])


def list_of_tests(rules: Sequence[Rule], proofs: Sequence[Proof]) -> str:
    """Return the tests of each rule; a rule without tests has only its sentence."""
    proved = proving_tests(proofs)
    lines = (line for rule in rules for line in _proof(rule, proved.get(rule.id, ())))
    return "".join(f"{line}\n" for line in lines)


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n"
    for rule in section.rules():
        exception = f" Not applicable: {rule.not_applicable}" if rule.not_applicable else ""
        yield f"- **{rule.id}**: {rule.does}{exception}"
    yield ""


def _proof(rule: Rule, tests: Sequence[str]) -> Iterator[str]:
    yield f"{rule.id}: {rule.does}"
    yield from (f"  {test}" for test in tests)
