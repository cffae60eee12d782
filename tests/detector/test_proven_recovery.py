"""Observations and wakes of a recovery: proven, confirmed by a user, or followed by a relapse."""

from datetime import datetime, timedelta

import pytest

from detector.context.sources_of_checks import CheckFreshness
from detector.reporting.snapshot_builder import SnapshotBuilder
from detector.state.check_state import CheckRecord
from health.check.same_boot import SAME_BOOT
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import NO_BACK_OFF, RemediationBackOff
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.approval import Progress
from health.model.node import CONFIRMED_HEALTHY, EXCLUDE_LABEL, Node
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.target import TargetName
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from health.runbook.wake_up import needs_wake_up
from objects.timestamps import stamp
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, check, check_object, condition, escalation, node_object

CHOICE = {"paramedic.dev/proven-recovery": "5m"}
BACK_OFF_LIMIT = timedelta(minutes=30)
INCIDENT = incident_of("node-1")


def cluster(choice: dict[str, str]) -> SmallCluster:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = choice
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    put_node(one)
    one.request("node-1")
    return one


def put_node(
    one: SmallCluster, boot_id: str = "boot-1", ready: str = "True", since: datetime = NOW, label: str = ""
) -> None:
    made = node_object(
        condition("Ready", ready, since),
        condition("DiskPressure", "False", NOW + timedelta(days=1)),
        labels={"role": "worker"} | ({label: "true"} if label else {}),
        uid="uid-node-1",
    )
    made["status"]["nodeInfo"] = {"bootID": boot_id, "kernelVersion": "6.12"}
    one.cluster_state.target_changed(TargetName("Node", "", "node-1"), Node.model_validate(made))


def observed(one: SmallCluster, clock: Hold | None = None) -> Observation:
    back_off = RemediationBackOff(BACK_OFF_LIMIT)
    return one.observe("node-1", now=NOW, freshness=CheckFreshness(clock=clock), back_off=back_off)


def test_incident_learns_boot_and_steps_of_a_healthy_target_where_recovery_is_to_be_proven() -> None:
    seen = observed(cluster(CHOICE))
    assert (seen.state, seen.proven_recovery_seconds, seen.boot_id) == (TargetState.HEALTHY, 300, "boot-1")
    assert (
        seen.last_transition == NOW
    )  # the transition of the condition that the check judges, not of another one
    assert seen.fact is not None
    assert (seen.fact.condition, seen.fact.status) == (SAME_BOOT, "boot-1")
    assert seen.steps
    assert seen.may_be_admitted
    assert seen.back_off_limit_seconds == BACK_OFF_LIMIT.total_seconds()


def test_incident_learns_neither_without_the_choice() -> None:
    seen = observed(cluster({}))
    assert (seen.proven_recovery_seconds, seen.boot_id, seen.last_transition) == (0, "", None)
    assert (seen.fact, seen.steps, seen.hold) == (None, (), None)


def test_unhealthy_target_is_observed_with_its_boot() -> None:
    one = cluster(CHOICE)
    put_node(one, ready="Unknown")
    seen = observed(one)
    assert (seen.state, seen.boot_id) == (TargetState.WAITING, "boot-1")
    assert seen.fact is not None
    assert seen.fact.condition == "Ready"


def test_target_without_a_boot_id_is_no_fact_to_act_on() -> None:
    one = cluster(CHOICE)
    put_node(one, boot_id="")
    assert observed(one).fact is None
    assert not observed(one).may_be_admitted


def test_hold_of_the_next_step_of_an_unhealthy_target_also_holds_that_of_an_unproven_one() -> None:
    one = cluster(CHOICE)
    put_node(one, label=EXCLUDE_LABEL)
    hold = observed(one).hold
    assert hold is not None
    assert hold.reason is HoldReason.EXCLUDED
    skewed = Hold(reason=HoldReason.CLOCK_SKEW, message="")
    assert observed(cluster(CHOICE), skewed).hold == skewed


@pytest.mark.parametrize(
    ("boot_id", "since"), [("boot-2", NOW), ("boot-1", NOW + timedelta(seconds=1)), ("", NOW)]
)
def test_incident_is_woken_for_another_boot_and_for_a_gap_that_was_over_before_the_look(
    boot_id: str, since: datetime
) -> None:
    one = cluster(CHOICE)
    before = observed(one)
    told: list[str | None] = []
    one.cluster_state.event_handlers.add_change_handler(lambda _, target: told.append(target))
    put_node(one, boot_id, since=since)
    assert "node-1" in told
    assert needs_wake_up(before, observed(one))


def test_node_whose_boot_changes_under_no_incident_changes_no_number() -> None:
    one = cluster({})
    before = observed(one)
    put_node(one, "boot-2")
    assert not needs_wake_up(before, observed(one))


CONFIRMED = {CONFIRMED_HEALTHY: ""}
SHADOW = ClusterContext(policy=PolicyInForce(policy=Policy(shadow=True)))


def with_confirmed_node(*, removes_confirmations: bool = True) -> SmallCluster:
    cluster = SmallCluster(removes_confirmations=removes_confirmations)
    cluster.check()
    cluster.node("node-1", annotations=CONFIRMED)
    return cluster


def wanted(cluster: SmallCluster) -> list[str]:
    return [incident.target.name for incident in cluster.cluster_state.all_wanted()]


@pytest.mark.rule("NHC 2.1/13")
def test_confirmed_node_has_an_incident_that_takes_the_mark_off() -> None:
    assert wanted(with_confirmed_node()) == ["node-1"]


@pytest.mark.rule("NHC 2.1/13")
def test_confirmed_node_has_none_where_marks_are_kept() -> None:
    cluster = with_confirmed_node(removes_confirmations=False)
    assert wanted(cluster) == []

    cluster.node("node-1", ready="Unknown", annotations=CONFIRMED)
    assert wanted(cluster) == ["node-1"]


@pytest.mark.rule("NHC 2.1/13")
def test_shadow_of_the_policy_counts_from_the_moment_that_it_is_seen() -> None:
    cluster = with_confirmed_node()
    told: list[tuple[object, str | None]] = []
    cluster.cluster_state.event_handlers.add_change_handler(lambda *one: told.append(one))

    cluster.cluster_state.take_context(SHADOW)
    assert wanted(cluster) == []
    assert (CHECK, "node-1") in told

    told.clear()
    cluster.cluster_state.take_context(ClusterContext())
    assert wanted(cluster) == ["node-1"]
    assert (CHECK, "node-1") in told


@pytest.mark.rule("rule 64")
@pytest.mark.parametrize(("annotations", "seconds"), [({}, 0), ({"paramedic.dev/relapse": "30m"}, 1800)])
def test_incident_of_an_unhealthy_target_learns_the_relapse_of_its_check(
    annotations: dict[str, str], seconds: float
) -> None:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = annotations
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    one.unhealthy("node-1")
    assert one.observe("node-1").relapse_seconds == seconds


@pytest.mark.rule("rule 64")
@pytest.mark.parametrize(
    ("relapse", "age", "is_new"),
    [(None, 60, True), (None, 61, False), ("30m", 60, True), ("2h", 61, True), ("2h", 121, False)],
)
def test_failure_of_a_node_that_was_created_lately_may_be_a_relapse_of_an_earlier_one(
    relapse: str | None, age: int, *, is_new: bool
) -> None:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = {"paramedic.dev/relapse": relapse} if relapse else {}
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    created = NOW - timedelta(minutes=age)
    one.node("node-1", ready="Unknown", since=NOW, creationTimestamp=stamp(created))
    assert one.observe("node-1").is_new is is_new


@pytest.mark.rule("rule 64")
def test_check_reports_a_relapse_without_a_step_left_although_it_has_no_request() -> None:
    one = SmallCluster()
    escalating = [escalation(1), escalation(2, name="reset")]
    one.check(escalatingRemediations=escalating, remediationTemplate=None)
    one.unhealthy("node-1")
    templates = [
        step.template for step in check(escalatingRemediations=escalating, remediationTemplate=None).steps
    ]
    exhausted = []
    for number in range(3):
        one.cluster_state.reported(incident_of("node-1"), Progress(spent=tuple(templates[:number])))
        snapshot = SnapshotBuilder(one.cluster_state, lambda *_: NO_BACK_OFF).of(CHECK, None, NOW)
        assert snapshot is not None
        exhausted.append(snapshot.targets["node-1"].is_exhausted)
    assert exhausted == [False, False, True]
