"""Each target with a hold of its own has an Event with the reason and the holder, in every kind of check."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.check_snapshot import CheckSnapshot
from health.gate.admission import CurrentHolder, TargetFacts, target_holds
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK as CLUSTER_API
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK as OPENSHIFT
from health.kinds.registry import CHECK_KINDS
from health.model.observation import Hold, HoldReason
from objects.event import Event
from tests.support.values import cluster_api, machines, openshift
from tests.support.values.builders import NOW, expired, snapshot
from tests.support.values.reporter import Reporter

LEASE = CurrentHolder("maintenance-operator")
EVERY = TargetFacts(
    is_excluded=True,
    maintenance="it is cordoned",
    has_no_step=True,
    earlier_request="Reboot/ns/node-1",
    lease_holder=LEASE,
    outage=Hold(reason=HoldReason.SUSPECTED_OUTAGE, message="6 of 10 Nodes of the zone a"),
    control_plane_lock=LEASE,
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
