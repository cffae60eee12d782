"""docs/conformance.md: each rule with the tests that prove it."""

from collections.abc import Iterator, Mapping, Sequence

from tests.conformance.markers import ROOT, Proof
from tests.conformance.register import SECTIONS
from tests.conformance.rule import Rule, Section

PAGE = ROOT / "docs" / "conformance.md"

_INTRODUCTION = """\
# Conformance

What Paramedic promises to users of NodeHealthCheck (NHC), of OpenShift's MachineHealthCheck (MHC A) and of
Cluster API's (CAPI B), rule by rule, and the tests that prove it. `NHC 2.1/13` is a section and a row of what
the NodeHealthCheck operator does, `MHC A.2.3/1` of what the machine-api-operator does, `CAPI B.2.7/clock` of
what Cluster API does; `rule 14` is a point in which Paramedic decides for itself, and where the two differ
that rule holds. Code and pages cite these ids (a section, as `NHC 2.1`, stands for its rows), and choices
between alternatives as `ADR 15`, a page of [decisions](decisions/); a test refuses an id that stands nowhere.

`make conformance` writes this page from the rules in `tests/conformance` and the markers of the tests
(`@pytest.mark.rule("NHC 2.1/13")`): do not edit it. `make test` fails when a rule has no test.
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


def page(proofs: Sequence[Proof], sections: Sequence[Section] = SECTIONS) -> str:
    proved = proving_tests(proofs)
    return "\n".join([_INTRODUCTION, *(line for one in sections for line in _section(one, proved))])


def _section(section: Section, proved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield f"## {section.title}\n"
    for rule in section.rules():
        yield f"**{rule.id}**: {rule.does}\n"
        yield from (f"- {line}" for line in _evidence(rule, proved.get(rule.id, ())))
        yield ""


def _evidence(rule: Rule, tests: Sequence[str]) -> list[str]:
    if rule.not_applicable:
        return [f"not applicable: {rule.not_applicable}"]
    return [f"`{test}`" for test in tests] or ["no test yet"]
