"""Notes about the remediators that checks use, and those that fit a cluster whose checks use none."""

import pytest

from cli.doctor.finding import FindingSeverity
from cli.doctor.remediator_examination import (
    RemediatorPresence,
    RemediatorUse,
    fitting_findings,
    use_finding,
    uses_of,
)
from cli.doctor.remediators import REMEDIATORS, Platform, Remediator
from health.check.health_check import HealthCheck
from tests.support.values import cluster_api, openshift
from tests.support.values.builders import check

LEASE = "the Lease remediators/285d4098.example.com"
ABSENT = RemediatorPresence(is_served=False)
OPENSHIFT, CLUSTER_API, METAL3 = Platform.OPENSHIFT, Platform.CLUSTER_API, Platform.METAL3


def template(group: str, kind: str, name: str = "t") -> dict[str, str]:
    return {"apiVersion": f"{group}.medik8s.io/v1alpha1", "kind": kind, "namespace": "default", "name": name}


DELETION = template("machine-deletion-remediation", "MachineDeletionRemediationTemplate")
REBOOT = template("self-node-remediation", "SelfNodeRemediationTemplate")


def escalation(*templates: dict[str, str]) -> HealthCheck:
    steps = [
        {"remediationTemplate": template, "order": order, "timeout": "5m"}
        for order, template in enumerate(templates)
    ]
    return check(remediationTemplate=None, escalatingRemediations=steps)


def use_of(*checks: HealthCheck) -> RemediatorUse:
    (found,) = uses_of(checks)
    return found


def row_of(name: str) -> Remediator:
    return next(row for row in REMEDIATORS if row.name == name)


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (check(remediationTemplate=DELETION), ["Machine Deletion Remediation"]),
        (escalation(REBOOT, DELETION), ["Self Node Remediation", "Machine Deletion Remediation"]),
        (check(), ["Reboot"]),
        (openshift.check(), ["Machine deletion"]),
        (cluster_api.check(), ["Mark for the owner"]),
    ],
    ids=["one template", "an escalation", "not in the table", "deletion", "mark"],
)
def test_each_check_has_the_remediators_of_its_steps(found: HealthCheck, names: list[str]) -> None:
    assert [use.remediator.name for use in uses_of([found])] == names
    assert {name for use in uses_of([found]) for name in use.checks} == {
        str(found.reference).replace("/", " ", 1)
    }


def test_checks_of_one_remediator_share_a_note_that_names_each() -> None:
    both = use_of(check(remediationTemplate=DELETION), openshift.check(remediationTemplate=DELETION))
    assert both.checks == ("NodeHealthCheck workers", "MachineHealthCheck openshift-machine-api/workers")


@pytest.mark.parametrize(
    ("presence", "reason", "words"),
    [
        (ABSENT, "RemediatorNotFound", "has no CRDs here, "),
        (ABSENT, "RemediatorNotFound", "so that Paramedic can make no requests"),
        (RemediatorPresence(is_served=True), "RemediatorNotFound", "nor holds a Lease 285d4098.example.com"),
        (
            RemediatorPresence(is_served=True, controller=LEASE),
            "RemediatorUsed",
            f"has its CRDs here, its controller has {LEASE}, and Paramedic may make its requests",
        ),
        (
            RemediatorPresence(is_served=True, controller=LEASE, lacks_rights=True),
            "RemediatorUsed",
            "and Paramedic lacks rights for its requests",
        ),
        (
            RemediatorPresence(is_served=True, is_hidden=True, lacks_rights=None),
            "RemediatorUsed",
            "you may not see whether its controller runs, and you may not see whether Paramedic may make",
        ),
    ],
)
def test_note_says_what_is_there_of_a_remediator(
    presence: RemediatorPresence, reason: str, words: str
) -> None:
    found = use_finding(use_of(check(remediationTemplate=DELETION)), presence)
    assert (found.severity, found.reason) == (FindingSeverity.NOTE, reason)
    assert found.what.startswith("MachineDeletionRemediations are made for NodeHealthCheck workers: Machine")
    assert words in found.what
    assert row_of("Machine Deletion Remediation").needs in found.advice
    assert "docs/remediators.md#test-it-on-one-node" in found.advice


def test_remediator_that_is_not_in_the_table_is_not_called_tried_and_needs_no_known_controller() -> None:
    found = use_finding(use_of(check()), RemediatorPresence(is_served=True))
    assert found.reason == "RemediatorUsed"
    assert found.what == (
        "Reboots are made for NodeHealthCheck workers: Reboot (not tried by the project) has its CRDs here, "
        "and Paramedic may make its requests"
    )
    assert "docs/remediators.md#another-remediator" in found.advice


def test_check_without_a_template_is_told_apart_by_its_own_api() -> None:
    found = use_finding(use_of(openshift.check()), ABSENT)
    assert found.reason == "RemediatorUsed"
    assert found.what.startswith("MachineHealthCheck openshift-machine-api/workers without a template: the")
    assert "docs/remediators.md#machine-deletion" in found.advice


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        (frozenset[Platform](), {"Self Node Remediation", "Fence Agents Remediation"}),
        (frozenset({OPENSHIFT}), {"Machine Deletion Remediation", "Machine deletion"}),
        (frozenset({CLUSTER_API}), {"Mark for the owner"}),
        (frozenset({CLUSTER_API, METAL3}), {"Mark for the owner", "Metal3 Remediation"}),
        (
            frozenset({OPENSHIFT, METAL3}),
            {"Machine Deletion Remediation", "Machine deletion", "Metal3 Remediation", "Mark for bare metal"},
        ),
    ],
)
def test_each_platform_has_its_remediators_beside_those_of_any_cluster(
    seen: frozenset[Platform], names: set[str]
) -> None:
    found = list(fitting_findings(seen, [ABSENT] * len(REMEDIATORS)))
    anywhere = {"Self Node Remediation", "Fence Agents Remediation"}
    assert {row.name for row in REMEDIATORS for note in found if f": {row.name} (" in note.what} == (
        names | anywhere
    )
    assert {(note.severity, note.reason) for note in found} == {(FindingSeverity.NOTE, "RemediatorFits")}


def test_note_about_a_fitting_remediator_says_whether_it_was_tried_and_is_installed() -> None:
    served = [RemediatorPresence(is_served=row.template.startswith("Self")) for row in REMEDIATORS]
    found = [str(note) for note in fitting_findings(frozenset(), served)]
    for name, crds in (
        ("Self Node Remediation", "has its CRDs"),
        ("Fence Agents Remediation", "has no CRDs"),
    ):
        (finding,) = (text for text in found if name in text)
        assert f"{name} ({row_of(name).tried})" in finding
        assert f"it {crds} here, and needs {row_of(name).needs}" in finding
