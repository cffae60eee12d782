"""The holds of one target: why it is left alone, and the Event with reason and holder in every kind."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.check_snapshot import CheckSnapshot
from health.gate.admission import NO_FACTS, CurrentHolder, TargetFacts, target_hold, target_holds
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as CLUSTER_API
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK as OPENSHIFT
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold, HoldReason
from health.model.owner_signs import OwnerSign
from health.model.verdict import Health
from objects.event import Event, Severity
from tests.support.values import cluster_api, machines, openshift
from tests.support.values.builders import NOW, expired, snapshot
from tests.support.values.reporter import Reporter

LEASE = CurrentHolder("maintenance-operator")
EVERY = TargetFacts(
    is_excluded=True,
    maintenance="it is cordoned",
    owner=Hold(reason=HoldReason.OWNER_AT_WORK, message="kured reboots the Node, since noon"),
    has_no_step=True,
    earlier_request="Reboot/ns/node-1",
    lease_holder=LEASE,
    outage=Hold(reason=HoldReason.SUSPECTED_OUTAGE, message="6 of 10 Nodes of the zone a"),
    other_member=LEASE,
    approval=Hold(reason=HoldReason.APPROVAL_REQUIRED, message="RebootTemplate/reboot needs the approval"),
)
BY_REQUEST = TargetFacts(requester=CurrentHolder("NodeHealthCheck-b", request="Reboot/ns/node-1"))
HOLDS = {hold.reason: hold for facts in (EVERY, BY_REQUEST) for hold in target_holds(facts)}
REPORTED_OTHERWISE = {HoldReason.SUSPECTED_OUTAGE, HoldReason.APPROVAL_REQUIRED}
"""One hold of many targets has no Event for each (rule 6); the question for an approval has its own Event."""
TARGETS: dict[Any, Any] = {
    NODE_HEALTH_CHECK: (expired(), snapshot, "node-1"),
    OPENSHIFT: (machines.expired(), openshift.snapshot, "machine-1"),
    CLUSTER_API: (machines.expired(), cluster_api.snapshot, "machine-1"),
}
NOT_OF_IT = {NODE_HEALTH_CHECK: {HoldReason.NO_CONTROLLER}, CLUSTER_API: {HoldReason.NO_CONTROLLER}}
"""Holds that targets of a kind do not have."""
KINDS = pytest.mark.parametrize("kind", TARGETS, ids=lambda kind: kind.resource_name)


def seen(kind: Any, hold: Hold) -> CheckSnapshot:
    target, of, _ = TARGETS[kind]
    made: CheckSnapshot = of(replace(target, hold=hold))
    return made


def on_target(events: list[Event], name: str) -> list[str]:
    """The messages of Events about the target that say why it is delayed."""
    reasons = {"RemediationSkipped", "RemediationRestricted", "SkippedNoController"}
    found = [one for one in events if one.subject is not None and one.subject.name == name]
    return [one.message for one in found if one.reason in reasons]


def test_every_kind_and_every_rule_of_a_target_has_a_sample() -> None:
    assert set(TARGETS) == set(CHECK_KINDS.values())
    assert len(HOLDS) == len(list(target_holds(EVERY))) + 1


@KINDS
@pytest.mark.parametrize("hold", HOLDS.values(), ids=list(HOLDS))
def test_target_that_is_held_alone_has_one_event_that_names_the_holder(kind: Any, hold: Hold) -> None:
    if hold.reason in REPORTED_OTHERWISE | NOT_OF_IT.get(kind, set()):
        return
    reporter, name = Reporter(kind), TARGETS[kind][2]
    (message,) = on_target(reporter.tells(seen(kind, hold)), name)
    if hold.reason is not HoldReason.NO_CONTROLLER:
        assert hold.message in message
    later = hold.model_copy(update={"message": f"{hold.message}, 5 s later"})
    assert on_target(reporter.tells(seen(kind, later), NOW + timedelta(seconds=5)), name) == []
    reporter.restarts()
    assert on_target(reporter.tells(seen(kind, hold)), name) == []


@KINDS
@pytest.mark.parametrize("reason", sorted(REPORTED_OTHERWISE))
def test_hold_that_is_reported_otherwise_has_no_event_for_each_target(kind: Any, reason: HoldReason) -> None:
    events = Reporter(kind).tells(seen(kind, HOLDS[reason]))
    assert on_target(events, TARGETS[kind][2]) == []


@KINDS
def test_owner_that_takes_too_long_has_one_event_on_the_target_or_its_check(kind: Any) -> None:
    target, of, _ = TARGETS[kind]
    work = "kured reboots the Node since noon, longer than 1h"
    held = replace(target, hold=HOLDS[HoldReason.OWNER_AT_WORK], owner_sign=OwnerSign.KURED)
    overdue = replace(target, verdict=replace(target.verdict, health=Health.WAITING), overdue=(work,))

    reporter = Reporter(kind)
    reporter.tells(of(held))
    (event,) = [one for one in reporter.tells(of(overdue)) if one.reason == "OwnerOverdue"]
    assert event.message.endswith(f"is no longer left to its owner: {work}")
    assert [one.reason for one in reporter.tells(of(overdue))] == []
    reporter.restarts()
    assert "OwnerOverdue" not in [one.reason for one in reporter.tells(of(overdue))]


@pytest.mark.rule("NHC 2.1/10", "NHC 1.5/RemediationSkipped/upgrade", "rule 6")
def test_nodes_with_a_new_machine_config_have_the_one_event_of_the_operator() -> None:
    hold = HOLDS[HoldReason.OWNER_AT_WORK]
    first, second = (
        replace(expired(name), hold=hold, owner_sign=OwnerSign.MACHINE_CONFIG) for name in ("a", "b")
    )
    reporter, words = Reporter(), "Postponing potential remediations because of ongoing cluster upgrade"
    told = [event for event in reporter.sees(snapshot(first)) if event[1] == "RemediationSkipped"]
    assert told == [(Severity.NORMAL, "RemediationSkipped", f"[remediation] {words}")]
    assert not [event for event in reporter.sees(snapshot(first, second)) if event[1] == "RemediationSkipped"]


# In the order of precedence: what objects, the reason that is given, and its words.
OBJECTIONS: list[tuple[dict[str, Any], HoldReason, str]] = [
    ({"is_excluded": True}, HoldReason.EXCLUDED, "the node is labelled to be excluded from remediation"),
    (
        {"annotated": Hold(reason=HoldReason.HOLD_ANNOTATION, message="replacing its disk")},
        HoldReason.HOLD_ANNOTATION,
        "replacing its disk",
    ),
    (
        {"outage": Hold(reason=HoldReason.SUSPECTED_OUTAGE, message="3 of 4 Nodes of the zone a")},
        HoldReason.SUSPECTED_OUTAGE,
        "3 of 4 Nodes of the zone a",
    ),
    (
        {"earlier_request": "Reboot/ns/node-1"},
        HoldReason.EARLIER_REQUEST,
        "Reboot/ns/node-1 of an earlier target of this name is still there",
    ),
    (
        {"lease_holder": CurrentHolder("NodeHealthCheck-other")},
        HoldReason.TAKEN,
        "NodeHealthCheck-other holds its Lease",
    ),
    (
        {"requester": CurrentHolder("NodeHealthCheck/other", "Reboot/ns/node-1")},
        HoldReason.TAKEN_BY_REQUEST,
        "NodeHealthCheck/other has the request Reboot/ns/node-1 for it",
    ),
    (
        {"other_member": CurrentHolder("NodeHealthCheck-workers/node-2")},
        HoldReason.CONTROL_PLANE,
        "one member of a quorum at a time: NodeHealthCheck-workers/node-2 has the lock",
    ),
]


def test_target_without_another_holder_can_be_remediated() -> None:
    assert target_hold(NO_FACTS) is None


@pytest.mark.rule("rule 11", "rule 13", "rule 21")
@pytest.mark.parametrize(("change", "reason", "message"), OBJECTIONS)
def test_objection_is_given_with_its_reason(change: dict[str, Any], reason: HoldReason, message: str) -> None:
    hold = target_hold(replace(NO_FACTS, **change))

    assert hold is not None
    assert (hold.reason, hold.message) == (reason, message)


@pytest.mark.parametrize("first", range(len(OBJECTIONS)))
def test_first_objection_wins(first: int) -> None:
    facts = NO_FACTS
    for change, _, _ in OBJECTIONS[first:]:
        facts = replace(facts, **change)
    hold = target_hold(facts)

    assert hold is not None
    assert hold.reason is OBJECTIONS[first][1]


def test_target_that_others_hold_by_a_lease_and_by_a_request_tells_both() -> None:
    other = CurrentHolder("NodeHealthCheck/other", "Reboot/ns/node-1")
    hold = target_hold(
        replace(NO_FACTS, lease_holder=CurrentHolder("maintenance", seconds=600), requester=other)
    )

    assert hold is not None
    assert hold.reason is HoldReason.TAKEN
    assert hold.message == (
        "NodeHealthCheck/other has the request Reboot/ns/node-1 for it, and maintenance holds its Lease"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (CurrentHolder("node-2", "Reboot/ns/node-2"), "node-2 has the lock, by the request Reboot/ns/node-2"),
        (CurrentHolder("machine-2", how="is being deleted"), "machine-2 is being deleted"),
    ],
)
def test_hold_of_a_member_names_the_member_before_it(other: CurrentHolder, message: str) -> None:
    hold = target_hold(replace(NO_FACTS, other_member=other))

    assert hold is not None
    assert hold.message == f"one member of a quorum at a time: {message}"


@pytest.mark.rule("rule 6")
@pytest.mark.parametrize(
    ("current_holder", "seconds"),
    [
        pytest.param(CurrentHolder("a"), 60, id="as the operator where no end is known"),
        pytest.param(CurrentHolder("a", seconds=17.5), 17.5, id="when its Lease runs out"),
        pytest.param(CurrentHolder("a", seconds=-3), 1, id="never in a hot loop"),
    ],
)
def test_taken_target_is_asked_for_again_when_the_hold_may_end(
    current_holder: CurrentHolder, seconds: float
) -> None:
    hold = target_hold(replace(NO_FACTS, lease_holder=current_holder))

    assert hold is not None
    assert hold.ask_again_seconds == seconds
