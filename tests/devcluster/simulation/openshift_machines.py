"""Machines and MachineSets as an API server would show them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.simulation.openshift_machine import FINALIZER, OpenShiftMachine, OpenShiftMachineSet
from health.model.node import Node

CREATED = datetime(2026, 1, 2, 3, 0, 0, tzinfo=UTC)
SET_UID = "uid-of-the-set"


def machine(  # noqa: PLR0913  a Machine has these parts
    name: str = "workers-abcde",
    *,
    phase: str = "",
    provider_id: str = "",
    node_ref: dict[str, str] | None = None,
    labels_of_node: dict[str, str] | None = None,
    finalizers: tuple[str, ...] = (FINALIZER,),
    owner: str = "",
    is_deleted: bool = False,
    age: timedelta = timedelta(),
) -> OpenShiftMachine:
    owners = [{"apiVersion": "v1", "kind": "MachineSet", "name": "workers", "uid": owner, "controller": True}]
    metadata = {
        "name": name,
        "namespace": "machines",
        "uid": f"{name.encode().hex()[-8:]}-1234",
        "resourceVersion": "7",
        "creationTimestamp": (CREATED - age).isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
        "finalizers": finalizers,
        "ownerReferences": owners if owner else (),
    }
    spec: dict[str, Any] = {"providerID": provider_id, "metadata": {"labels": labels_of_node or {}}}
    status = {"phase": phase, "nodeRef": node_ref}
    return OpenShiftMachine.model_validate({"metadata": metadata, "spec": spec, "status": status})


def machine_set(
    replicas: int, *, status: dict[str, int] | None = None, is_deleted: bool = False
) -> OpenShiftMachineSet:
    metadata = {
        "name": "workers",
        "namespace": "machines",
        "uid": SET_UID,
        "resourceVersion": "7",
        "creationTimestamp": CREATED.isoformat(),
        "deletionTimestamp": CREATED.isoformat() if is_deleted else None,
    }
    spec = {
        "replicas": replicas,
        "template": {
            "metadata": {"labels": {"pool": "workers"}},
            "spec": {"providerSpec": {"value": {"size": "large"}}},
        },
    }
    return OpenShiftMachineSet.model_validate({"metadata": metadata, "spec": spec, "status": status or {}})


def node_of(
    of: OpenShiftMachine,
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
