"""Machines, MachineSets and Nodes of both machine APIs as an API server would show them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.simulation.machine_api import ClusterApi, MachineObject, OpenShiftApi
from health.model.node import Node
from kube.resource import Object

OPENSHIFT, CLUSTER_API = OpenShiftApi(), ClusterApi("v1beta2")
CREATED = datetime(2026, 1, 2, 3, 0, 0, tzinfo=UTC)
SINCE = "2026-01-02T03:04:05Z"
SET_UID = "uid-of-the-set"


def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    shown = {"type": type_, "status": status, "lastTransitionTime": SINCE}
    return shown | {"reason": reason, "message": message}


def machine(  # noqa: PLR0913  a Machine has these parts
    name: str = "workers-abcde",
    *,
    phase: str = "",
    provider_id: str = "",
    node_ref: dict[str, str] | None = None,
    labels_of_node: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    conditions: Sequence[dict[str, str]] = (),
    finalizers: tuple[str, ...] = (OPENSHIFT.finalizer,),
    owner: str = "",
    is_deleted: bool = False,
    age: timedelta = timedelta(),
) -> MachineObject:
    owners = [{"apiVersion": "v1", "kind": "MachineSet", "name": "workers", "uid": owner, "controller": True}]
    metadata = {
        "name": name,
        "namespace": "machines",
        "uid": f"{name.encode().hex()[-8:]}-1234",
        "resourceVersion": "7",
        "creationTimestamp": (CREATED - age).isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
        "annotations": annotations or {},
        "finalizers": finalizers,
        "ownerReferences": owners if owner else (),
    }
    spec: dict[str, Any] = {"providerID": provider_id, "metadata": {"labels": labels_of_node or {}}}
    status = {"phase": phase, "nodeRef": node_ref, "conditions": conditions}
    return MachineObject.model_validate({"metadata": metadata, "spec": spec, "status": status})


def machine_set(replicas: int, *, status: dict[str, int] | None = None, is_deleted: bool = False) -> Object:
    metadata = {
        "name": "workers",
        "namespace": "machines",
        "uid": SET_UID,
        "resourceVersion": "7",
        "creationTimestamp": CREATED.isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
    }
    template = {
        "metadata": {"labels": {"pool": "workers"}},
        "spec": {"providerSpec": {"value": {"size": "large"}}},
    }
    spec = {"clusterName": "east", "replicas": replicas, "template": template}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


def node_of(
    of: MachineObject,
    *,
    annotation: str = "",
    labels: dict[str, str] | None = None,
    is_deleted: bool = False,
) -> Node:
    metadata = {
        "name": of.node_name,
        "uid": "uid-of-the-node",
        "creationTimestamp": CREATED.isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
        "labels": labels or {},
        "annotations": {"machine.openshift.io/machine": annotation},
    }
    return Node.model_validate({"metadata": metadata})
