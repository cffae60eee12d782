"""Orders by annotation in the cluster state: which are wanted, and which incidents they are for."""

import asyncio
from collections.abc import Mapping
from unittest.mock import Mock

import pytest

from detector.dispatching.reconciler import ReconcilerDependencies
from detector.orders.annotated_orders import AnnotatedOrders, OrderWorkflows, recipients_of
from health.cluster.cluster_context import ClusterContext
from health.model.order_annotations import AnnotatedObject, AnnotatedOrderKey, digest_of
from health.model.references import IncidentReference
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from health.runbook.annotated_order import TURNED_OFF
from runtime.guard import Guard
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW

HOLD, ABORT = "paramedic.dev/hold", "paramedic.dev/abort"


@pytest.fixture
def cluster() -> SmallCluster:
    one = SmallCluster()
    one.check()
    return one


def wanted(cluster: SmallCluster) -> list[str]:
    keys = OrderWorkflows(Mock(), cluster.cluster_state).all_wanted()
    return sorted(f"{one.subject} {one.order}" for one in keys)


def key(cluster: SmallCluster, subject: AnnotatedObject, order: str = "hold") -> AnnotatedOrderKey:
    return AnnotatedOrderKey(cluster=cluster.cluster_state.cluster, subject=subject, order=order)


def node(name: str = "node-1", uid: str = "") -> AnnotatedObject:
    return AnnotatedObject(kind="Node", group="", name=name, uid=uid or f"uid-{name}")


def check() -> AnnotatedObject:
    return AnnotatedObject(kind=CHECK.kind, group=CHECK.group, name=CHECK.name, uid="check-uid")


def test_each_annotation_of_a_node_or_check_has_a_workflow_until_it_is_gone(cluster: SmallCluster) -> None:
    cluster.node("node-1", annotations={HOLD: "", ABORT: "x"})
    cluster.node("node-2", labels={}, annotations={HOLD: ""})
    cluster.check(annotations={ABORT: ""})
    assert wanted(cluster) == ["Node/node-1 abort", "Node/node-1 hold", "Node/node-2 hold", f"{CHECK} abort"]
    cluster.node("node-1", annotations={ABORT: "x"})
    cluster.delete_node("node-2")
    cluster.check()
    assert wanted(cluster) == ["Node/node-1 abort"]


def test_handlers_learn_of_each_change_of_a_value_and_of_no_other_change(cluster: SmallCluster) -> None:
    notified: list[str] = []
    handlers = cluster.cluster_state.event_handlers
    handlers.add_annotation_handler(
        lambda subject, order: notified.append(f"{subject.name}/{subject.uid} {order}")
    )
    cluster.node("node-1")
    cluster.node("node-1", annotations={HOLD: "a"})
    cluster.node("node-1", ready="Unknown", annotations={HOLD: "a"})
    assert notified == ["node-1/uid-node-1 hold"]
    cluster.node("node-1", annotations={HOLD: "b"})
    assert notified == ["node-1/uid-node-1 hold"] * 2
    cluster.node("node-1", uid="new", annotations={HOLD: "b"})
    assert notified[2:] == ["node-1/uid-node-1 hold", "node-1/new hold"]
    cluster.delete_node("node-1")
    assert notified[4:] == ["node-1/new hold"]
    assert cluster.cluster_state.annotated.digest(node(uid="new"), "hold") == ""


def test_observation_is_the_digest_of_the_value(cluster: SmallCluster) -> None:
    cluster.node("node-1", annotations={HOLD: "a"})
    workflows, subject = OrderWorkflows(Mock(), cluster.cluster_state), key(cluster, node())
    assert workflows.observe(subject) == digest_of("a")
    assert workflows.needs_wake_up(subject, digest_of("b"), digest_of("a"))
    assert not workflows.needs_wake_up(subject, digest_of("a"), digest_of("a"))
    assert not workflows.needs_wake_up(subject, digest_of("a"), "")


async def test_temporal_is_not_asked_while_there_is_no_annotation(cluster: SmallCluster) -> None:
    cluster.node("node-1")
    client = Mock()
    assert await OrderWorkflows(client, cluster.cluster_state).running() == {}
    client.assert_not_called()


def test_annotations_are_not_read_in_shadow(cluster: SmallCluster) -> None:
    cluster.node("node-1", annotations={HOLD: ""})
    cluster.node("unselected", labels={}, annotations={HOLD: ""})
    cluster.check(annotations={"paramedic.dev/shadow": "true", ABORT: ""})
    assert wanted(cluster) == ["Node/unselected hold"]
    cluster.check()
    cluster.cluster_state.take_context(ClusterContext(policy=PolicyInForce(policy=Policy(shadow=True))))
    assert wanted(cluster) == []


class StartedOrders(OrderWorkflows):
    def __init__(self, cluster: SmallCluster) -> None:
        super().__init__(Mock(), cluster.cluster_state)
        self.started: list[str] = []

    async def start(self, key: AnnotatedOrderKey, observation: str) -> None:  # noqa: ARG002  as the base
        self.started.append(f"{key.subject} {key.order}")

    async def running(self) -> Mapping[str, AnnotatedOrderKey | None]:
        return {}


async def test_annotations_are_read_once_their_check_has_left_the_shadow(cluster: SmallCluster) -> None:
    workflows = StartedOrders(cluster)
    dependencies = ReconcilerDependencies(
        is_leader=lambda: True, now=lambda: NOW, guard=Guard(), problems=Problems()
    )
    orders = AnnotatedOrders(workflows, cluster.cluster_state, list, dependencies)
    cluster.cluster_state.event_handlers.add_annotation_handler(orders.changed)
    cluster.cluster_state.event_handlers.add_change_handler(orders.check_changed)
    cluster.check(annotations={"paramedic.dev/shadow": "true", ABORT: ""})
    cluster.node("node-1", annotations={HOLD: ""})
    leading = asyncio.create_task(orders.lead())
    await asyncio.sleep(0)
    cluster.node("unselected", labels={}, annotations={HOLD: ""})
    await eventually(lambda: workflows.started == ["Node/unselected hold"])
    cluster.check(annotations={ABORT: ""})
    await eventually(lambda: {"Node/node-1 hold", f"{CHECK} abort"} <= set(workflows.started))
    leading.cancel()


def recipients(
    cluster: SmallCluster, subject: AnnotatedObject, *open_incidents: IncidentReference
) -> list[str]:
    found = recipients_of(key(cluster, subject), open_incidents, cluster.cluster_state)
    assert bool(found.incidents) is not bool(found.refused)
    return [one.target.name for one in found.incidents] or [found.refused]


def test_order_is_for_the_open_incidents_of_the_object(cluster: SmallCluster) -> None:
    for name in ("node-1", "node-2"):
        cluster.unhealthy(name)
    incidents = [incident_of("node-2"), incident_of("node-1")]
    assert recipients(cluster, node(), *incidents) == ["node-1"]
    assert recipients(cluster, check(), *incidents) == ["node-1", "node-2"]
    (refused,) = recipients(cluster, node(uid="earlier"), *incidents)
    assert refused.startswith("Node/node-1 has no open incident")


def test_order_on_a_node_is_for_the_incident_of_its_machine_too() -> None:
    machines = SmallMachines()
    machines.check()
    machines.unhealthy("node-1")
    incident = machines.incident("node-1")
    found = recipients_of(
        AnnotatedOrderKey(cluster="lab", subject=node(), order="hold"), [incident], machines.cluster_state
    )
    assert found.incidents == (incident,)


def test_policy_turns_orders_by_annotation_off(cluster: SmallCluster) -> None:
    cluster.unhealthy("node-1")
    policy = PolicyInForce(policy=Policy(orders_by_annotation=False))
    cluster.cluster_state.take_context(ClusterContext(policy=policy))
    assert recipients(cluster, node(), incident_of("node-1")) == [TURNED_OFF]
    unknown = PolicyInForce(is_required=True, is_missing=True)
    cluster.cluster_state.take_context(ClusterContext(policy=unknown))
    assert "is required and missing" in recipients(cluster, node(), incident_of("node-1"))[0]
