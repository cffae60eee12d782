"""The API requests of a kubelet: its Node, the status of it, and its Lease in kube-node-lease.

The bodies are pure functions; time is an argument. A kubelet owns four conditions and nothing else on the
list: each report states True or False anew, and changes `lastTransitionTime` only if the status differs from
the one on the Node. So a kubelet that returns after the node-lifecycle controller wrote Unknown causes a
transition, and a repeated report does not.

In a cluster that also has real Nodes, the simulated ones are guests (`GUEST`). They take no Pods: they are
tainted, have no room, and are of no operating system that a DaemonSet selects. They have no address, because
network plug-ins would make routes to it. Autoscalers and load balancers leave them out, and their ROLES in
`kubectl get nodes` say what they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from devcluster.simulation.machine_room import SimulatedMachine, provider_id
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import LEASES, NAMESPACES, NODES, Object
from kube.transport import Transport
from objects.timestamps import micro_time, stamp

NAMESPACE = "kube-node-lease"
DURATION = timedelta(seconds=40)
KUBELET_VERSION = "v1.36.3"
PODS = "110"
RESOURCES = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": PODS}
FIELD_MANAGER = "kubelet"


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """How the simulated Nodes appear to the other controllers of their cluster."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    operating_system: str = "linux"
    resources: Mapping[str, str] = field(default_factory=lambda: RESOURCES)
    has_address: bool = True


WORKER = Appearance(labels={"node-role.kubernetes.io/worker": ""})
"""A worker in a cluster of simulated nodes alone."""


def lease(node_name: str, node_uid: str, now: datetime) -> dict[str, Any]:
    """The Lease of a node; it is deleted together with its Node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node_name,
            "namespace": NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_uid}],
        },
        "spec": {
            "holderIdentity": node_name,
            "leaseDurationSeconds": int(DURATION.total_seconds()),
            "renewTime": micro_time(now),
        },
    }


def renewal(now: datetime) -> dict[str, Any]:
    """The merge patch that renews a Lease."""
    return {"spec": {"renewTime": micro_time(now)}}


@dataclass(frozen=True)
class Opinion:
    """One condition as a healthy kubelet reports it."""

    type: str
    status: str
    reason: str
    message: str


HEALTHY = (
    Opinion(
        "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"
    ),
    Opinion("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    Opinion("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    Opinion("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node(machine: SimulatedMachine, now: datetime, appearance: Appearance = WORKER) -> dict[str, Any]:
    """The Node with which a kubelet registers itself."""
    taints = {"taints": [dict(taint) for taint in appearance.taints]} if appearance.taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": labels(machine, appearance),
            "annotations": dict(appearance.annotations),
        },
        "spec": {"providerID": provider_id(machine.name)} | taints,
        "status": status(machine, (), now, appearance),
    }


def labels(machine: SimulatedMachine, appearance: Appearance) -> dict[str, str]:
    """The labels of a Node at its registration."""
    return {
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": appearance.operating_system,
        "kubernetes.io/arch": "amd64",
        **appearance.labels,
    }


def status(
    machine: SimulatedMachine,
    shown: Sequence[Mapping[str, Any]],
    now: datetime,
    appearance: Appearance = WORKER,
) -> dict[str, Any]:
    """The full report of a healthy kubelet; `shown` are the present conditions of the Node."""
    internal = [{"type": "InternalIP", "address": machine.address}] if appearance.has_address else []
    return {
        "capacity": dict(appearance.resources),
        "allocatable": dict(appearance.resources),
        "addresses": [*internal, {"type": "Hostname", "address": machine.name}],
        "nodeInfo": node_info(machine) | {"operatingSystem": appearance.operating_system},
        "conditions": conditions(shown, now),
    }


def node_info(machine: SimulatedMachine) -> dict[str, str]:
    """The software of the machine, and its boot ID."""
    return {
        "architecture": "amd64",
        "bootID": machine.boot_id,
        "containerRuntimeVersion": "simulated://1.0.0",
        "kernelVersion": "6.12.0-simulated",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET_VERSION,
        "machineID": machine.hardware_id.replace("-", ""),
        "operatingSystem": "linux",
        "osImage": "Simulated Linux",
        "systemUUID": machine.hardware_id,
    }


def conditions(shown: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, str]]:
    """The four conditions of a kubelet; a transition only where the status differs from `shown`."""
    before = {condition["type"]: condition for condition in shown}
    return [_condition(opinion, before.get(opinion.type), now) for opinion in HEALTHY]


def is_due(
    node: Mapping[str, Any], machine: SimulatedMachine, now: datetime, report_period: timedelta
) -> bool:
    """True if the kubelet has to report: a value of its own differs, or the last report is old."""
    shown = node.get("status", {})
    if shown.get("nodeInfo", {}).get("bootID") != machine.boot_id:
        return True
    before = {condition["type"]: condition for condition in shown.get("conditions", ())}
    if any(before.get(opinion.type, {}).get("status") != opinion.status for opinion in HEALTHY):
        return True
    heartbeat = datetime.fromisoformat(before["Ready"]["lastHeartbeatTime"])
    return now - heartbeat >= report_period


def _condition(opinion: Opinion, before: Mapping[str, Any] | None, now: datetime) -> dict[str, str]:
    unchanged = before is not None and before["status"] == opinion.status
    return {
        "type": opinion.type,
        "status": opinion.status,
        "reason": opinion.reason,
        "message": opinion.message,
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": before["lastTransitionTime"] if before and unchanged else stamp(now),
    }


class NodeApi:
    """The requests of all kubelets, over one transport. Every method raises KubernetesError."""

    def __init__(self, transport: Transport, appearance: Appearance = WORKER) -> None:
        self._transport = transport
        self._client = Client(transport, FIELD_MANAGER)
        self._appearance = appearance

    async def ensure_lease_namespace(self) -> None:
        """Create the namespace of the Leases, as kube-apiserver does some seconds after its start."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        try:
            await self._client.create(NAMESPACES, body)
        except AlreadyExists:
            return

    async def register(self, machine: SimulatedMachine, now: datetime) -> None:
        """Create the Node; an existing one is reused."""
        try:
            await self._client.create(NODES, node(machine, now, self._appearance))
        except AlreadyExists:
            return

    async def find_node(self, name: str) -> Object | None:
        """Read the Node; None if it was deleted."""
        try:
            return await self._client.get(NODES, name)
        except NotFound:
            return None

    async def report(self, node: Object, machine: SimulatedMachine, now: datetime) -> None:
        """Write the status of the Node by a patch that keeps conditions of other owners."""
        shown = node.get("status", {}).get("conditions", ())
        await self._transport.request(
            "PATCH",
            NODES.path(name=machine.name, subresource="status"),
            query=[("fieldManager", FIELD_MANAGER)],
            body=_bound_to(node, status(machine, shown, now, self._appearance)),
            content_type="application/strategic-merge-patch+json",
        )

    async def renew_lease(self, name: str, now: datetime) -> bool:
        """Renew the Lease of that node; False if there is none."""
        try:
            await self._client.merge_patch(LEASES, name, renewal(now), NAMESPACE)
        except NotFound:
            return False
        return True

    async def create_lease(self, node: Object, now: datetime) -> None:
        metadata = node["metadata"]
        renewed = lease(metadata["name"], metadata["uid"], now)
        try:
            await self._client.create(LEASES, renewed, NAMESPACE)
        except AlreadyExists:
            return


def _bound_to(node: Object, status: dict[str, Any]) -> Object:
    """A patch that fails on another Node of the same name."""
    return {"metadata": {"uid": node["metadata"]["uid"]}, "status": status}


LABEL, LABEL_VALUE = "demo.paramedic.dev/simulated", "true"
"""Selects the simulated Nodes."""
GUEST = Appearance(
    labels=MappingProxyType(
        {
            LABEL: LABEL_VALUE,
            "node-role.kubernetes.io/paramedic-demo": "",
            "node.kubernetes.io/exclude-from-external-load-balancers": "true",
        }
    ),
    annotations=MappingProxyType({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}),
    taints=tuple(
        MappingProxyType({"key": LABEL, "value": LABEL_VALUE, "effect": effect})
        for effect in ("NoSchedule", "NoExecute")
    ),
    operating_system="simulated",
    resources=MappingProxyType({"cpu": "0", "memory": "0", "pods": "0"}),
    has_address=False,
)
