"""The reasons for an unhealthy Machine, with their messages (CAPI B.2.3)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import ClusterUpgrades, Upgrade, UpgradePhase
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.machine import MachineTarget
from health.model.sighting import Gap
from health.model.verdict import HEALTHY, Fact, Health
from health.policy.outage_guard import GroupOutage, NodeGroup, Outages
from tests.support.values.builders import NOW, condition
from tests.support.values.cluster_api import (
    CONTROL_PLANE,
    CREATED,
    EVERYTHING_READY,
    HEALTHY_NODE,
    MINUTE,
    REMEDIATE,
    check,
    cluster,
    in_cluster,
    machine,
    target,
    with_lost_node,
    without_node,
)

MOMENT = timedelta(microseconds=1)
FIVE, TEN = 5 * MINUTE, 10 * MINUTE
BOTH = check(
    checks={
        "unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": 300}],
        "unhealthyMachineConditions": [{"type": "BootstrapReady", "status": "False", "timeoutSeconds": 60}],
    }
)
NOT_BOOTED = condition("BootstrapReady", "False") | {"reason": "Failing", "message": "left out"}
NOT_READY = condition("Ready", "False") | {"reason": "KubeletDown"}
NOT_INITIALIZED = in_cluster(cluster(initialized="False"))
NOT_THERE = ClusterContext()


def health(
    of: MachineTarget,
    *,
    by: MachineHealthCheck = BOTH,
    at: Any = NOW,
    context: ClusterContext = EVERYTHING_READY,
) -> Health:
    return by.verdict(of, at, context).health


@pytest.mark.rule("rule 37/cluster")
def test_after_an_upgrade_of_its_cluster_all_that_was_unhealthy_counts_from_its_end() -> None:
    ended = NOW + 30 * MINUTE
    of_edge, of_core = (
        in_cluster(cluster_upgrades=ClusterUpgrades({name: Upgrade(phase=UpgradePhase.OVER, since=ended)}))
        for name in ("fleet/edge", "fleet/core")
    )
    of_machine = target(HEALTHY_NODE, of=machine(NOT_BOOTED))
    for one, due in ((target(NOT_READY), FIVE), (of_machine, MINUTE)):
        assert BOTH.verdict(one, ended, of_edge).deadline == ended + due
        assert BOTH.verdict(one, ended, of_core).deadline == NOW + due


@pytest.mark.rule("CAPI B.2.3/annotation", "CAPI B.1/annotation/remediate-machine")
@pytest.mark.parametrize("context", [EVERYTHING_READY, NOT_INITIALIZED, NOT_THERE])
def test_annotated_machine_is_unhealthy_at_once_whatever_its_cluster_says(context: ClusterContext) -> None:
    annotated = target(HEALTHY_NODE, annotations=REMEDIATE)
    assert health(annotated, context=context, at=CREATED) is Health.EXPIRED
    failed = BOTH.failure(annotated, NOW, context)
    assert failed is not None
    assert (failed.reason, failed.deprecated_reason) == (
        "HasRemediateAnnotation",
        "HasRemediateMachineAnnotation",
    )
    assert failed.message == (
        "Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation"
    )


@pytest.mark.rule("CAPI B.2.3/control plane", "CAPI B.2.3/infrastructure", "CAPI B.2.3/ungated")
@pytest.mark.parametrize(
    ("gate", "labels", "expected"),
    [
        pytest.param({}, None, Health.EXPIRED, id="open"),
        pytest.param({"initialized": "False"}, None, Health.HEALTHY, id="not initialized"),
        pytest.param({"initialized": ""}, None, Health.HEALTHY, id="nothing said"),
        pytest.param({"initialized": "False"}, CONTROL_PLANE, Health.EXPIRED, id="of the control plane"),
        pytest.param({"ready": "False"}, None, Health.HEALTHY, id="no infrastructure"),
        pytest.param({"ready": "Unknown"}, CONTROL_PLANE, Health.HEALTHY, id="no infrastructure for it"),
    ],
)
def test_gates_of_the_cluster(gate: dict[str, Any], labels: dict[str, str] | None, expected: Health) -> None:
    context = in_cluster(cluster(**gate))
    failing = target(NOT_READY, of=machine(NOT_BOOTED, labels=labels))
    assert health(failing, at=NOW + TEN, context=context) is expected
    assert BOTH.counts_as_healthy(failing, context) is (expected is Health.HEALTHY)


@pytest.mark.rule("CAPI B.2.2/no Cluster")
def test_without_a_cluster_nothing_is_unhealthy() -> None:
    assert BOTH.verdict(target(NOT_READY), NOW + TEN, NOT_THERE) == HEALTHY


@pytest.mark.rule("CAPI B.2.3/Node condition", "CAPI B.2.3/Machine condition")
@pytest.mark.parametrize(
    ("failing", "time"),
    [
        pytest.param(target(NOT_READY), FIVE, id="of the Node"),
        pytest.param(target(HEALTHY_NODE, of=machine(NOT_BOOTED)), MINUTE, id="of the Machine"),
    ],
)
def test_condition_is_a_failure_strictly_after_its_time(failing: MachineTarget, time: timedelta) -> None:
    assert health(failing, at=NOW + time) is Health.WAITING
    assert health(failing, at=NOW + time + MOMENT) is Health.EXPIRED
    assert not BOTH.counts_as_healthy(failing, EVERYTHING_READY)


@pytest.mark.rule("CAPI B.2.3/Node gone")
def test_machine_whose_node_is_gone_is_unhealthy_at_once() -> None:
    judged = BOTH.verdict(with_lost_node(), NOW, EVERYTHING_READY)
    assert judged.health is Health.EXPIRED
    assert judged.fact == Fact(condition="Node", status="gone", since=CREATED, is_moving=True)
    failed = BOTH.failure(with_lost_node(), NOW, EVERYTHING_READY)
    assert failed is not None
    assert (failed.reason, failed.message) == (
        "NodeDeleted",
        "Health check failed:\n  * Node node-1 has been deleted",
    )
    assert (failed.deprecated_reason, failed.deprecated_message) == ("NodeNotFound", "")


@pytest.mark.rule("CAPI B.2.3/Node gone")
def test_node_that_is_not_watched_is_not_gone() -> None:
    """Before the control plane is initialized its own Machine waits, linked or not."""
    first = with_lost_node(labels=CONTROL_PLANE, created=NOW)
    judged = BOTH.verdict(first, NOW, NOT_INITIALIZED)
    assert (judged.health, judged.deadline) == (Health.WAITING, NOW + TEN)


@pytest.mark.rule("rule 3", "rule 33")
def test_of_a_node_that_was_not_read_nothing_is_said() -> None:
    unread = MachineTarget(machine(), is_node_unread=True)
    assert health(unread, at=NOW + TEN) is Health.HEALTHY
    assert not BOTH.counts_as_healthy(unread, EVERYTHING_READY)
    assert health(MachineTarget(machine(NOT_BOOTED), is_node_unread=True), at=NOW + TEN) is Health.EXPIRED


@pytest.mark.rule("CAPI B.2.3/startup", "CAPI B.2.3/startup base")
@pytest.mark.parametrize("latest", ["creation", "initialized", "cluster ready", "machine ready"])
def test_startup_counts_from_the_latest_of_four(latest: str) -> None:
    times = dict.fromkeys(("creation", "initialized", "cluster ready", "machine ready"), CREATED) | {
        latest: NOW
    }
    context = in_cluster(cluster(initialized_since=times["initialized"], ready_since=times["cluster ready"]))
    ready = condition("InfrastructureReady", "True", times["machine ready"])
    starting = without_node(ready, created=times["creation"])
    assert health(starting, at=NOW + TEN, context=context) is Health.WAITING
    assert health(starting, at=NOW + TEN + MOMENT, context=context) is Health.EXPIRED
    failed = BOTH.failure(starting, NOW + TEN + MOMENT, context)
    assert failed is not None
    assert failed.reason == failed.deprecated_reason == "NodeStartupTimeout"
    assert failed.message == "Health check failed:\n  * Node failed to report startup in 10m0s"


@pytest.mark.rule("CAPI B.2.3/startup base", "rule 56")
@pytest.mark.parametrize("ahead", ["initialized", "cluster ready"])
def test_startup_does_not_count_from_a_time_that_is_ahead_and_says_so(ahead: str) -> None:
    times = {"initialized": CREATED, "cluster ready": CREATED} | {ahead: NOW + timedelta(hours=2)}
    context = in_cluster(cluster(initialized_since=times["initialized"], ready_since=times["cluster ready"]))
    at = CREATED + TEN
    assert health(without_node(), at=at, context=context) is Health.WAITING
    assert health(without_node(), at=at + MOMENT, context=context) is Health.EXPIRED
    judged = BOTH.verdict(without_node(), at + MOMENT, context)
    assert "while its own time is" in judged.reason
    assert BOTH.failure(without_node(), at + MOMENT, context) is not None


@pytest.mark.rule("CAPI B.2.3/startup base")
def test_time_of_what_is_not_true_does_not_count() -> None:
    not_ready = condition("InfrastructureReady", "False", NOW)
    assert BOTH.verdict(without_node(not_ready), NOW, EVERYTHING_READY).deadline == CREATED + TEN


@pytest.mark.rule("CAPI B.2.3/startup", "CAPI B.1/nodeStartupTimeout")
def test_machine_waits_for_ever_where_the_timeout_is_off() -> None:
    patient = check(checks={"nodeStartupTimeoutSeconds": 0})
    assert health(without_node(), by=patient, at=NOW + TEN) is Health.HEALTHY
    assert not patient.counts_as_healthy(without_node(), EVERYTHING_READY)


@pytest.mark.rule("CAPI B.2.3/merged", "CAPI B.1/condition/reasons")
def test_all_failures_are_in_one_message_and_the_machine_wins() -> None:
    both = target(NOT_READY, of=machine(NOT_BOOTED))
    of_machine = (
        "Condition BootstrapReady on Machine is reporting status False with reason Failing for more than 1m0s"
    )
    of_node = "Condition Ready on Node is reporting status False with reason KubeletDown for more than 5m0s"

    early, late = (BOTH.failure(both, NOW + time, EVERYTHING_READY) for time in (2 * MINUTE, TEN))

    assert early is not None
    assert late is not None
    assert early.message == f"Health check failed:\n  * {of_machine}"
    assert (late.reason, late.message) == (
        "UnhealthyMachine",
        f"Health check failed:\n  * {of_machine}\n  * {of_node}",
    )
    assert late.deprecated_message == f"{of_machine}; {of_node}"
    assert BOTH.failure(both, NOW, EVERYTHING_READY) is None


@pytest.mark.rule("rule 50/back")
@pytest.mark.parametrize(
    "known",
    [
        {"back": {"fleet/edge": NOW}},
        {"outages": Outages({NodeGroup("fleet/edge"): GroupOutage(ended=NOW)})},
    ],
)
def test_node_counts_as_gone_a_minute_after_its_cluster_came_back(
    known: dict[str, Any],
) -> None:
    context = replace(EVERYTHING_READY, **known)
    lost = with_lost_node()
    assert health(lost, at=NOW + MINUTE, context=context) is Health.WAITING
    assert BOTH.failure(lost, NOW + MINUTE, context) is None
    assert BOTH.next_deadline(lost, NOW, context) == NOW + MINUTE
    after = NOW + MINUTE + timedelta(seconds=1)
    assert health(lost, at=after, context=context) is Health.EXPIRED
    failed = BOTH.failure(lost, after, context)
    assert failed is not None
    assert failed.reason == "NodeDeleted"
    assert BOTH.is_unhealthy(lost, context)


@pytest.mark.rule("rule 50/back")
def test_another_cluster_that_came_back_delays_nothing() -> None:
    context = replace(EVERYTHING_READY, back={"fleet/core": NOW})
    assert health(with_lost_node(), at=NOW, context=context) is Health.EXPIRED


@pytest.mark.rule("rule 33")
def test_clocks_of_nodes_restart_when_they_are_seen_again_and_of_machines_run_on() -> None:
    lost = (Gap(since=NOW - TEN, until=NOW + TEN),)
    context = in_cluster(lost={"fleet/edge": lost})
    assert BOTH.verdict(target(NOT_READY), NOW + TEN, context).deadline == NOW + TEN + FIVE
    assert BOTH.verdict(without_node(), NOW + TEN, context).deadline == NOW + 2 * TEN
    assert (
        health(target(HEALTHY_NODE, of=machine(NOT_BOOTED)), at=NOW + TEN, context=context) is Health.EXPIRED
    )
    elsewhere = in_cluster(lost={"fleet/other": lost})
    assert health(target(NOT_READY), at=NOW + TEN, context=elsewhere) is Health.EXPIRED


@pytest.mark.rule("rule 2", "rule 41")
def test_fact_is_still_stated_while_it_is_among_what_makes_the_machine_unhealthy() -> None:
    both = target(NOT_READY, of=machine(NOT_BOOTED))
    for fact in (
        Fact(condition="Ready", status="False", since=NOW),
        Fact(condition="Machine/BootstrapReady", status="False", since=NOW),
    ):
        assert BOTH.still_states(fact, both, EVERYTHING_READY)
        assert not BOTH.still_states(fact, target(HEALTHY_NODE), EVERYTHING_READY)
        assert not BOTH.still_states(fact, both, NOT_THERE)


@pytest.mark.rule("CAPI B.2.4/healthy", "CAPI B.2.2/deleting")
def test_machine_that_is_being_deleted_counts_as_unhealthy() -> None:
    assert BOTH.counts_as_healthy(target(HEALTHY_NODE), EVERYTHING_READY)
    assert not BOTH.counts_as_healthy(target(HEALTHY_NODE, is_going=True), EVERYTHING_READY)
    assert not BOTH.counts_as_healthy(with_lost_node(), EVERYTHING_READY)
