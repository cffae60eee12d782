"""The observations and wakes of an incident whose recovery must be proven."""

from datetime import datetime, timedelta

import pytest

from detector.context.sources_of_checks import CheckFreshness
from detector.state.check_state import CheckRecord
from health.check.same_boot import SAME_BOOT
from health.gate.back_off import RemediationBackOff
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import EXCLUDE_LABEL, Node
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.target import TargetName
from health.runbook.wake_up import needs_wake_up
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, check_object, condition, node_object

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
