"""SmallClusterApi: the state of a management cluster with Machines of Cluster API, and checks of them."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from detector.registry import WATCHED_KINDS
from detector.state.machine_join import MachineJoin
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import CHECK, Cluster, judge
from health.kinds.clusterapi.group import CLUSTER_NAME, V1BETA2
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.clusterapi.machine import Machine, MachineTarget
from health.model.node import Node
from health.model.target import TargetName, node_name
from kube.record import Key
from kube.resource import Object
from objects.timestamps import stamp
from tests.support.state.small_state import SmallState
from tests.support.values.builders import condition, node_object
from tests.support.values.cluster_api import (
    CREATED,
    LABELS,
    NAMESPACE,
    NOT_READY,
    TEMPLATE,
    check_object,
    cluster,
)

EDGE, WEST = f"{NAMESPACE}/edge", f"{NAMESPACE}/west"
REQUEST_KIND = (TEMPLATE["apiVersion"], "Metal3Remediation")
OF_WEST = LABELS | {CLUSTER_NAME: "west"}


def machine_object(
    name: str, *, uid: str = "", node: str = "", status: dict[str, Any] | None = None, **metadata: Any
) -> Object:
    """A Machine as the API server returns it; by default its Node has the same name."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid or f"uid-{name}",
            "resourceVersion": "0",
            "creationTimestamp": stamp(CREATED),
            "labels": LABELS,
            **metadata,
        },
        "spec": {"clusterName": "edge"},
        "status": {"nodeRef": {"name": node or name}, **(status or {})},
    }


class SmallClusterApi(SmallState):
    """Two Clusters with known Nodes, and checks with a timer of five minutes for unhealthy Nodes.

    By default, checks and Machines belong to `edge`; nothing happens to `west` unless a test names it.
    """

    kind = CLUSTER_API_MACHINE_HEALTH_CHECK
    namespace = NAMESPACE

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        targets = WATCHED_KINDS[CHECK].targets
        assert targets is not None
        self.join: MachineJoin = targets.join(self.cluster_state)
        for name in (EDGE, WEST):
            self.join.cluster_read(name)
        self.cluster(cluster())

    def check_body(self, annotations: dict[str, str] | None, **spec: Any) -> dict[str, Any]:
        return check_object(annotations, **{"checks": {"unhealthyNodeConditions": [NOT_READY]}, **spec})

    def unhealthy(self, name: str) -> None:
        self.node(name, "False")
        self.machine(machine_object(name))

    @property
    def context(self) -> ClusterContext:
        return self.cluster_state.cluster_context

    def cluster(self, edge: Cluster | None) -> None:
        """Set the Cluster `edge`; None removes it."""
        west = cluster()
        west = west.model_copy(update={"metadata": replace(west.metadata, name="west")})
        found = {CHECK: judge([west, *([edge] if edge is not None else [])])}
        self.cluster_state.take_context(replace(self.context, of_kinds=found))

    def unreachable(self, why: str) -> None:
        """Set why the Nodes of `edge` cannot be watched; "" means that they can."""
        found = {EDGE: why} if why else {}
        self.cluster_state.take_context(replace(self.context, unreachable=found))

    def machine(self, raw: Object) -> None:
        """Pass a Machine to the state, as the watch of Machines does."""
        self.join.target_changed(Key(NAMESPACE, raw["metadata"]["name"]), Machine.model_validate(raw))

    def delete_machine(self, name: str) -> None:
        self.join.target_changed(Key(NAMESPACE, name), None)

    def node(
        self, name: str, ready: str = "True", since: datetime = CREATED, *, in_cluster: str = EDGE
    ) -> None:
        found = Node.model_validate(node_object(condition("Ready", ready, since), name=name))
        self._put_node(node_name(name, in_cluster), found)

    def delete_node(self, name: str, *, in_cluster: str = EDGE) -> None:
        self._put_node(node_name(name, in_cluster), None)

    def _put_node(self, name: TargetName, node: Node | None) -> None:
        self.cluster_state.target_changed(name, node)
        self.join.node_changed(name)

    def break_node(self, name: str, problem: str) -> None:
        """Report the Node as an object that cannot be decoded."""
        of_edge = node_name(name, EDGE)
        self.cluster_state.targets.put_undecodable(of_edge, problem)
        self.join.node_changed(of_edge)
        self.delete_node(name)

    def delete_broken_node(self, name: str) -> None:
        of_edge = node_name(name, EDGE)
        self.cluster_state.targets.put_undecodable(of_edge, "")
        self.join.node_changed(of_edge)

    def request(self, machine: str, *, exists: bool = True) -> None:
        """A request for a Machine, as Cluster API's controller creates it, or its end."""
        owner = {"apiVersion": V1BETA2, "kind": "Machine", "name": machine, "uid": f"uid-{machine}"}
        self.request_of_operator(REQUEST_KIND, owner, exists=exists)

    def target(self, name: str) -> MachineTarget:
        found = self.cluster_state.targets.of(self.named())[name]
        assert isinstance(found, MachineTarget)
        return found


named = SmallClusterApi.named
