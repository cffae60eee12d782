"""Simulated Nodes, and the kubelets and the hardware that report for them.

The API server keeps all state of a machine, in the metadata of its Node:

- The label `demo.paramedic.dev/boot` is its power switch. Its value is the boot ID that the kubelet reports.
  Without the label the machine hangs: it renews no Lease, and reports nothing.
- The annotation `demo.paramedic.dev/power-on-at` switches a machine on at that time, with a new boot ID.

So `kubectl label node NODE demo.paramedic.dev/boot-` stops a node, a new value of the label boots it, and a
restarted simulation continues where the last one ended.
"""

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.resource import LEASES, NODES, Object
from kube.transport import Transport
from objects.timestamps import micro_time, stamp

SIMULATED, SIMULATED_VALUE = "demo.paramedic.dev/simulated", "true"
SELECTOR = f"{SIMULATED}={SIMULATED_VALUE}"
"""Selects the simulated Nodes; no program of the simulation touches others."""
BOOT = "demo.paramedic.dev/boot"
POWER_ON_AT = "demo.paramedic.dev/power-on-at"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_DURATION = timedelta(seconds=40)
REPORT_PERIOD = timedelta(minutes=5)
"""Between two reports of an unchanged status, as of a real kubelet."""
FIELD_MANAGER = "kubelet"
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
"""Type, status, reason and message of the conditions that a healthy kubelet reports."""
_log = logging.getLogger(__name__)


def provider_id(node: str) -> str:
    """The ID that a cloud would give the machine of the Node `node`; it survives reboots."""
    return f"simulated://{_hardware_id(node)}"


def _hardware_id(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node}.demo.paramedic.dev"))


def simulated_node(name: str, *, is_guest: bool = False) -> Object:
    """The Node of a machine that is switched on.

    A guest joins a cluster that also has real Nodes. It takes no Pods: it is tainted, has no room, and is of
    no operating system that a DaemonSet selects. Autoscalers and load balancers leave it out, and its ROLES
    in `kubectl get nodes` say what it is.
    """
    labels = {"node-role.kubernetes.io/worker": ""}
    annotations: dict[str, str] = {}
    taints: list[dict[str, str]] = []
    operating_system = "linux"
    resources = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    if is_guest:
        labels = {
            "node-role.kubernetes.io/paramedic-demo": "",
            "node.kubernetes.io/exclude-from-external-load-balancers": "true",
        }
        annotations = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        effects = ("NoSchedule", "NoExecute")
        taints = [{"key": SIMULATED, "value": SIMULATED_VALUE, "effect": effect} for effect in effects]
        operating_system = "simulated"
        resources = {"cpu": "0", "memory": "0", "pods": "0"}
    labels |= {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": operating_system,
        "kubernetes.io/arch": "amd64",
        SIMULATED: SIMULATED_VALUE,
        BOOT: str(uuid.uuid4()),
    }
    software = {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "simulated://1.0.0",
        "kernelVersion": "6.12.0-simulated",
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3",
        "machineID": _hardware_id(name).replace("-", ""),
        "operatingSystem": operating_system,
        "osImage": "Simulated Linux",
        "systemUUID": _hardware_id(name),
    }
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"providerID": provider_id(name), "taints": taints},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": software,
        },
    }


def power_on(boot_id: str | None = None) -> Object:
    """The patch that boots a Node, with a new boot ID by default."""
    return {"metadata": {"labels": {BOOT: boot_id or str(uuid.uuid4())}, "annotations": {POWER_ON_AT: None}}}


def power_off(until: datetime | None = None) -> Object:
    """The patch that stops the kubelet of a Node; with `until` the machine is switched on at that time."""
    annotation = None if until is None else until.isoformat()
    return {"metadata": {"labels": {BOOT: None}, "annotations": {POWER_ON_AT: annotation}}}


def boot_of(node: Object) -> str | None:
    """The boot ID of a machine that is on."""
    boot_id: str | None = node["metadata"].get("labels", {}).get(BOOT)
    return boot_id


def reported_boot(node: Object) -> str:
    """The boot ID in the status of a Node."""
    boot_id: str = node.get("status", {}).get("nodeInfo", {}).get("bootID", "")
    return boot_id


def is_switched_on_now(node: Object, now: datetime) -> bool:
    """True if the machine is off and its time is over."""
    power_on_at = node["metadata"].get("annotations", {}).get(POWER_ON_AT)
    return boot_of(node) is None and power_on_at is not None and datetime.fromisoformat(power_on_at) <= now


def is_due(node: Object, now: datetime) -> bool:
    """True if the kubelet has to report: a value of its own differs, or the last report is old."""
    shown = {condition["type"]: condition for condition in node.get("status", {}).get("conditions", ())}
    if reported_boot(node) != boot_of(node):
        return True
    if any(shown.get(type_, {}).get("status") != status for type_, status, _, _ in HEALTHY):
        return True
    return now - datetime.fromisoformat(shown["Ready"]["lastHeartbeatTime"]) >= REPORT_PERIOD


def conditions(shown: Sequence[Mapping[str, Any]], now: datetime) -> list[dict[str, str]]:
    """The four conditions of a kubelet; a transition only where the status differs from `shown`."""
    before = {condition["type"]: condition for condition in shown}
    reported = []
    for type_, status, reason, message in HEALTHY:
        old = before.get(type_)
        is_same = old is not None and old["status"] == status
        reported.append(
            {
                "type": type_,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": stamp(now),
                "lastTransitionTime": old["lastTransitionTime"] if old and is_same else stamp(now),
            }
        )
    return reported


async def attend_nodes(transport: Transport, now: datetime) -> None:
    """Let each simulated machine do once what it is due to do.

    The failure of one machine is logged and stops no other one. Raises KubernetesError if
    no Node can be read.
    """
    client = Client(transport, FIELD_MANAGER)

    async def attend(node: Object) -> None:
        try:
            if is_switched_on_now(node, now):
                await client.merge_patch(NODES, node["metadata"]["name"], power_on())
            elif boot_of(node) is not None:
                await _report(transport, client, node, now)
        except KubernetesError as error:
            _log.warning("%s fails once: %s", node["metadata"]["name"], error)

    nodes = await client.list(NODES, label_selector=SELECTOR)
    await asyncio.gather(*(attend(node) for node in nodes))


async def _report(transport: Transport, client: Client, node: Object, now: datetime) -> None:
    """Do what a kubelet does: report the status if that is due, and renew the Lease."""
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    if is_due(node, now):
        shown = node.get("status", {}).get("conditions", ())
        status = {"conditions": conditions(shown, now), "nodeInfo": {"bootID": boot_of(node)}}
        await transport.request(
            "PATCH",
            NODES.path(name=name, subresource="status"),
            query=[("fieldManager", FIELD_MANAGER)],
            body={"metadata": {"uid": uid}, "status": status},  # fails on another Node of the same name
            # Keeps the conditions of other owners.
            content_type="application/strategic-merge-patch+json",
        )
    try:
        await client.merge_patch(LEASES, name, {"spec": {"renewTime": micro_time(now)}}, LEASE_NAMESPACE)
    except NotFound:
        owner = {"apiVersion": NODES.api_version, "kind": NODES.kind, "name": name, "uid": uid}
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": int(LEASE_DURATION.total_seconds()),
            "renewTime": micro_time(now),
        }
        lease = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}
        await client.create(LEASES, lease, LEASE_NAMESPACE)
