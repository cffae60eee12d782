"""The detector counts and answers for a target that a person ordered to be remediated."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.check.ordered import fact_of
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import EndedAttempt, RemediationBackOff
from health.model.approval import Progress
from health.model.node import Node
from health.model.observation import HoldReason, TargetState
from health.model.references import IncidentReference
from health.model.target import TargetName
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.remediation_orders import NEXT_BOOT, ORDER, annotated, remediation_order

MANY_IN_A_ROW = RemediationBackOff(timedelta(hours=1), EndedAttempt(7, NOW - timedelta(seconds=1)))


class Cluster(SmallCluster):
    back_off = RemediationBackOff(timedelta())

    def _back_off(self, incident: IncidentReference) -> RemediationBackOff:  # noqa: ARG002  of the one node
        return self.back_off


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster()
    made.check(minHealthy=1)
    for name in ("first", "second", "third"):
        made.node(name)
    return made


def order(cluster: SmallCluster, name: str, **fields: Any) -> None:
    cluster.node(name, annotations=annotated(remediation_order(**fields)))


def put_policy(cluster: SmallCluster, **fields: Any) -> None:
    in_force = PolicyInForce(policy=Policy(**fields))
    cluster.cluster_state.take_context(replace(cluster.cluster_state.cluster_context, policy=in_force))


def hold_of(cluster: SmallCluster, name: str) -> HoldReason | str | None:
    hold = cluster.observe(name).hold
    return hold.reason if hold else None


@pytest.mark.rule("rule 4")
def test_ordered_node_counts_as_unhealthy_for_itself_and_for_the_others(cluster: Cluster) -> None:
    order(cluster, "first")
    assert cluster.numbers() == (2, 3)
    assert cluster.wanted() == {"first"}
    assert hold_of(cluster, "first") is None
    cluster.unhealthy("second")
    assert hold_of(cluster, "second") is None
    order(cluster, "third")
    assert cluster.numbers() == (0, 3)
    assert [hold_of(cluster, name) for name in ("first", "second", "third")] == [HoldReason.THRESHOLD] * 3


@pytest.mark.rule("rule 4")
def test_force_passes_the_threshold_for_the_ordered_node_alone(cluster: Cluster) -> None:
    for name in ("first", "second"):
        cluster.unhealthy(name)
    order(cluster, "third", is_forced=True)
    assert [hold_of(cluster, name) for name in cluster.wanted()] == [HoldReason.THRESHOLD] * 3, "by default"
    put_policy(cluster, forced_orders=True)
    assert [hold_of(cluster, name) for name in ("first", "second")] == [HoldReason.THRESHOLD] * 2
    assert hold_of(cluster, "third") is None


def test_observation_of_an_ordered_node_has_the_order_and_its_fact(cluster: Cluster) -> None:
    order(cluster, "first")
    seen = cluster.observe("first")
    assert (seen.state, seen.fact, seen.order) == (TargetState.EXPIRED, fact_of(ORDER), ORDER)
    assert seen.reason == ORDER.words
    assert seen.steps


def test_ordered_node_waits_for_no_back_off(cluster: Cluster) -> None:
    cluster.back_off = MANY_IN_A_ROW
    cluster.unhealthy("second")
    order(cluster, "first")
    assert (hold_of(cluster, "second"), hold_of(cluster, "first")) == (HoldReason.BACK_OFF, None)


@pytest.mark.parametrize(
    ("metadata", "hold"),
    [
        (
            {"labels": {"role": "worker", "remediation.medik8s.io/exclude-from-remediation": "true"}},
            "Excluded",
        ),
        ({"labels": {"role": "worker"}}, None),
    ],
)
def test_holds_of_the_node_stop_an_order(
    cluster: Cluster, metadata: dict[str, Any], hold: str | None
) -> None:
    cluster.node("first", annotations=annotated(remediation_order(is_forced=True)), **metadata)
    assert hold_of(cluster, "first") == hold


def test_pause_of_the_check_stops_an_order(cluster: Cluster) -> None:
    order(cluster, "first", is_forced=True)
    cluster.check(minHealthy=1, pauseRequests=["power work"])
    assert hold_of(cluster, "first") is HoldReason.PAUSED


def test_fulfilled_order_needs_an_incident_that_removes_it_and_counts_no_more(cluster: Cluster) -> None:
    order(cluster, "first")
    assert cluster.wanted() == {"first"}
    raw = node_object(name="first", uid="uid-first", labels={"role": "worker"}, annotations=annotated())
    raw["status"]["nodeInfo"] = {"bootID": NEXT_BOOT}
    booted = Node.model_validate(raw)
    cluster.cluster_state.target_changed(TargetName("Node", "", "first"), booted)
    assert cluster.numbers() == (3, 3)
    assert cluster.wanted() == {"first"}
    seen = cluster.observe("first")
    assert (seen.state, seen.order) == (TargetState.HEALTHY, ORDER)


def test_fulfilled_order_in_shadow_stays_without_an_incident(cluster: Cluster) -> None:
    cluster.node(
        "first", annotations={**annotated(), "remediation.medik8s.io/manually-confirmed-healthy": ""}
    )
    assert cluster.wanted() == {"first"}
    cluster.check(annotations={"paramedic.dev/shadow": "true"}, minHealthy=1)
    assert cluster.wanted() == set()


def test_order_of_a_node_that_its_check_no_longer_selects_is_seen_until_it_is_removed(
    cluster: Cluster,
) -> None:
    cluster.node("first", annotations=annotated(), labels={"role": "other"})
    seen = cluster.observe("first")
    assert (seen.state, seen.order) == (TargetState.RELEASED, ORDER)
    cluster.delete_check()
    assert cluster.observe("first").order == ORDER
    cluster.delete_node("first")
    assert cluster.observe("first").order is None


def test_ordered_remediations_of_a_check_take_turns_and_the_earliest_order_is_first(cluster: Cluster) -> None:
    cluster.check(minHealthy=0)
    order(cluster, "second")
    order(cluster, "first", given=NOW + timedelta(seconds=1))
    order(cluster, "third", given=NOW + timedelta(seconds=2))
    assert [hold_of(cluster, name) for name in ("second", "first", "third")] == [None, "Limit", "Limit"]
    hold = cluster.observe("third").hold
    assert hold is not None
    assert hold.message.endswith("at a time (maxOrdersInFlight): second (of 2026-03-01T12:00:00Z)")
    put_policy(cluster, max_orders_in_flight=2)
    assert [hold_of(cluster, name) for name in ("second", "first", "third")] == [None, None, "Limit"]
    cluster.unhealthy("second")
    assert [hold_of(cluster, name) for name in ("second", "first", "third")] == [None] * 3, (
        "no order is alone"
    )


def look(cluster: Cluster, after: timedelta) -> None:
    cluster.now = NOW + after
    state = cluster.cluster_state
    state.take_context(replace(state.cluster_context, orders_over=state.orders_over(cluster.now)))


@pytest.mark.rule("rule 4")
@pytest.mark.parametrize(
    ("after", "is_in_force"),
    [
        (timedelta(minutes=-2), False),
        (timedelta(minutes=-1), True),  # the clock of the person may be ahead
        (timedelta(minutes=59), True),
        (timedelta(hours=1), False),
    ],
)
def test_order_counts_from_its_time_until_its_end_while_its_annotation_stays(
    cluster: Cluster, after: timedelta, *, is_in_force: bool
) -> None:
    order(cluster, "first")
    look(cluster, after)
    assert cluster.numbers() == ((2, 3) if is_in_force else (3, 3))
    seen = cluster.observe("first")
    assert seen.state is (TargetState.EXPIRED if is_in_force else TargetState.HEALTHY)
    assert (seen.order, cluster.wanted()) == (ORDER, {"first"})


def test_order_that_its_incident_ended_counts_no_more_but_a_new_one_does(cluster: Cluster) -> None:
    order(cluster, "first")
    incident = cluster.incident("first")
    cluster.cluster_state.reported(incident, Progress(order_ended=ORDER.given))
    look(cluster, timedelta(minutes=1))
    assert cluster.numbers() == (3, 3)
    order(cluster, "first", given=NOW + timedelta(seconds=1))
    look(cluster, timedelta(minutes=1))
    assert cluster.numbers() == (2, 3)


def test_order_opens_no_gate_for_a_failure_by_conditions(cluster: Cluster) -> None:
    cluster.unhealthy("second")
    cluster.unhealthy("third")
    failed = condition("Ready", "Unknown", NOW - timedelta(hours=1))
    forced = annotated(remediation_order(is_forced=True))
    raw = node_object(failed, name="first", uid="uid-first", labels={"role": "worker"}, annotations=forced)
    cluster.cluster_state.target_changed(TargetName("Node", "", "first"), Node.model_validate(raw))
    assert hold_of(cluster, "first") == HoldReason.THRESHOLD


def test_order_for_another_check_does_not_count(cluster: Cluster) -> None:
    order(cluster, "first", check="NodeHealthCheck/others")
    assert (cluster.numbers(), cluster.wanted()) == ((3, 3), set())
    assert cluster.observe("first").order is None


def test_policy_without_orders_by_annotation_ends_the_order_at_once(cluster: Cluster) -> None:
    order(cluster, "first")
    assert cluster.numbers() == (2, 3)
    refusing = PolicyInForce(policy=Policy(orders_by_annotation=False))
    cluster.cluster_state.take_context(ClusterContext(policy=refusing))
    assert cluster.numbers() == (3, 3)
    seen = cluster.observe("first")
    assert (seen.state, seen.order) == (TargetState.HEALTHY, ORDER)


def test_ordered_machine_counts_as_unhealthy() -> None:
    cluster = SmallMachines()
    cluster.check(maxUnhealthy=1)
    for name in ("first", "second"):
        cluster.node(name)
    order_of_second = remediation_order(check=str(cluster.named()), boot_id="")
    cluster.machine("first", node="first")
    cluster.machine("second", node="second", annotations=annotated(order_of_second))
    assert cluster.wanted() == {"second"}
    assert cluster.observe("second").state is TargetState.EXPIRED
    assert cluster.observe("second").hold is None
