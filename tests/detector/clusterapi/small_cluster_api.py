"""A real ClusterState with Machines of Cluster API, filled as the reflectors fill it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from detector.registry import WATCHED_KINDS
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.watched_kind import TargetJoin
from health.check.template_validity import TemplateKind, TemplateKinds
from health.cluster.cluster_context import ClusterContext
from health.gate.check_holds import CHECK_HOLDS, CheckHoldRow
from health.kinds.clusterapi.cluster import CHECK, Cluster, judge
from health.kinds.clusterapi.group import CLUSTER_NAME
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.clusterapi.machine import Machine, MachineTarget
from health.model.node import Node
from health.model.references import CheckReference
from health.model.target import node_name
from kube.record import Key
from kube.resource import Object
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.cluster_api import (
    CREATED,
    LABELS,
    NAMESPACE,
    NOT_READY,
    check_object,
    cluster,
)

EDGE, WEST = f"{NAMESPACE}/edge", f"{NAMESPACE}/west"
OF_WEST = LABELS | {CLUSTER_NAME: "west"}


def named(name: str = "workers") -> CheckReference:
    return CheckReference(kind=CHECK.kind, group=CHECK.group, namespace=NAMESPACE, name=name)


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


class SmallClusterApi:
    """Two Clusters with known Nodes, and checks with a timer of five minutes for unhealthy Nodes.

    By default, checks and Machines belong to `edge`; nothing happens to `west` unless a test names it.
    """

    def __init__(self, *, check_hold_rows: Sequence[CheckHoldRow] = CHECK_HOLDS) -> None:
        self.template_kinds: TemplateKinds = lambda *_: None
        self.cluster_state = ClusterState(
            "main-0a1b", template_kinds=self._template_kind, check_hold_rows=check_hold_rows
        )
        self.now = NOW
        targets = WATCHED_KINDS[CHECK].targets
        assert targets is not None
        self.join: TargetJoin = targets.join(self.cluster_state)
        self._generation = 0
        for one in (EDGE, WEST):
            self.join.cluster_read(one)
        self.cluster(cluster())

    def _template_kind(self, api_version: str, kind: str) -> TemplateKind | None:
        return self.template_kinds(api_version, kind)

    @property
    def context(self) -> ClusterContext:
        return self.cluster_state.cluster_context

    def cluster(self, one: Cluster | None) -> None:
        """Set the Cluster `edge`; None removes it."""
        west = cluster()
        west = west.model_copy(update={"metadata": replace(west.metadata, name="west")})
        found = {CHECK: judge([west, *([one] if one is not None else [])])}
        self.cluster_state.take_context(replace(self.context, of_kinds=found))

    def unreachable(self, why: str) -> None:
        """Set why the Nodes of `edge` cannot be watched; "" means that they can."""
        found = {EDGE: why} if why else {}
        self.cluster_state.take_context(replace(self.context, unreachable=found))

    def check(self, name: str = "workers", annotations: dict[str, str] | None = None, **spec: Any) -> None:
        fields = {"checks": {"unhealthyNodeConditions": [NOT_READY]}, **spec}
        body = check_object(annotations, **fields)
        self._generation += 1
        body["metadata"] |= {"name": name, "uid": f"uid-{name}", "generation": self._generation}
        record = CheckRecord.model_validate(body)
        self.cluster_state.check_changed(CLUSTER_API_MACHINE_HEALTH_CHECK, named(name), record)

    def delete_check(self, name: str = "workers") -> None:
        self.cluster_state.check_changed(CLUSTER_API_MACHINE_HEALTH_CHECK, named(name), None)

    def machine(self, raw: Object) -> None:
        """Pass a Machine to the state, as the watch of Machines does."""
        self.join.target_changed(Key(NAMESPACE, raw["metadata"]["name"]), Machine.model_validate(raw))

    def delete_machine(self, name: str) -> None:
        self.join.target_changed(Key(NAMESPACE, name), None)

    def node(
        self, name: str, ready: str = "True", since: datetime = CREATED, *, in_cluster: str = EDGE
    ) -> None:
        found = Node.model_validate(node_object(condition("Ready", ready, since), name=name))
        self.join.node_changed(node_name(name, in_cluster), found)

    def delete_node(self, name: str, *, in_cluster: str = EDGE) -> None:
        self.join.node_changed(node_name(name, in_cluster), None)

    def break_node(self, name: str, problem: str) -> None:
        """Report the Node as one that cannot be decoded."""
        of_edge = node_name(name, EDGE)
        self.cluster_state.targets.put_undecodable(of_edge, problem)
        self.join.node_decoding_changed(of_edge)
        self.delete_node(name)

    def delete_broken_node(self, name: str) -> None:
        of_edge = node_name(name, EDGE)
        self.cluster_state.targets.put_undecodable(of_edge, "")
        self.join.node_decoding_changed(of_edge)

    def target(self, name: str) -> MachineTarget:
        found = self.cluster_state.targets.of(named())[name]
        assert isinstance(found, MachineTarget)
        return found

    def numbers(self, check: str = "workers") -> tuple[int, int]:
        """The numbers of healthy Machines and of all."""
        decided = self.cluster_state.allowance(named(check))
        assert decided is not None
        return decided.healthy, decided.total
