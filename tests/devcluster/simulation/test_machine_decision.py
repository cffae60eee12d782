from datetime import timedelta
from typing import Any

import pytest

from devcluster.simulation.machine_api import (
    CreateNode,
    DeleteNode,
    LinkNode,
    MachineApi,
    MachineObject,
    ReferencedNode,
    SetFinalizers,
    Step,
    UpdatePhase,
    link,
)
from devcluster.simulation.machines import next_step
from health.model.node import Node
from tests.devcluster.simulation.machine_objects import CLUSTER_API, CREATED, OPENSHIFT, machine, node_of

FINALIZER = OPENSHIFT.finalizer
MINUTE = timedelta(minutes=1)
FULL_NAME = "machines/workers-abcde"
UID = "uid-of-the-node"
REFERENCE = ReferencedNode(name=machine().node_name, uid=UID)
OF_NODE = {"kind": "Node", "name": REFERENCE.name, "uid": UID}
ZONE = {"zone": "a"}


def provided(**fields: Any) -> MachineObject:
    return machine(provider_id="simulated://x", **fields)


def deleted(**fields: Any) -> MachineObject:
    """A Machine under deletion that only finalizers keep."""
    return provided(is_deleted=True, **fields)


@pytest.mark.parametrize(
    ("seen", "node", "step"),
    [
        pytest.param(machine(finalizers=()), None, SetFinalizers((FINALIZER,)), id="without our finalizer"),
        pytest.param(
            machine(finalizers=("other",)),
            None,
            SetFinalizers(("other", FINALIZER)),
            id="with the finalizer of others",
        ),
        pytest.param(machine(), None, UpdatePhase("Provisioning"), id="new"),
        pytest.param(machine(phase="Provisioning"), None, None, id="its provider has just begun"),
        pytest.param(
            machine(phase="Provisioning", age=MINUTE / 4),
            None,
            None,
            id="its provider works",
        ),
        pytest.param(
            machine(phase="Provisioning", age=MINUTE), None, CreateNode(), id="its provider is done"
        ),
        pytest.param(provided(phase="Provisioning"), None, UpdatePhase("Provisioned"), id="has its hardware"),
        pytest.param(provided(), None, UpdatePhase("Provisioned"), id="came with its hardware"),
        pytest.param(
            provided(phase="Provisioning"),
            node_of(machine()),
            UpdatePhase("Provisioned"),
            id="its node was faster than we",
        ),
        pytest.param(provided(phase="Provisioned"), None, None, id="waits for its node"),
        pytest.param(provided(phase="Provisioned"), node_of(machine()), LinkNode(UID), id="node registered"),
        pytest.param(
            provided(phase="Provisioned"),
            node_of(machine(), annotation="machines/another"),
            LinkNode(UID),
            id="node of another Machine",
        ),
        pytest.param(
            provided(phase="Provisioned", labels_of_node=ZONE),
            node_of(machine(), annotation=FULL_NAME, labels={"zone": "b"}),
            LinkNode(UID),
            id="node without its labels",
        ),
        pytest.param(
            provided(phase="Provisioned", labels_of_node=ZONE),
            node_of(machine(), annotation=FULL_NAME, labels=ZONE | {"os": "linux"}),
            UpdatePhase("Running", REFERENCE),
            id="node linked",
        ),
        pytest.param(
            provided(phase="Running", node_ref=OF_NODE),
            node_of(machine(), annotation=FULL_NAME),
            None,
            id="runs",
        ),
        pytest.param(
            provided(phase="Running", node_ref=OF_NODE | {"uid": "uid-of-the-node-before"}),
            node_of(machine(), annotation=FULL_NAME),
            UpdatePhase("Running", REFERENCE),
            id="its node was made anew",
        ),
        pytest.param(provided(phase="Running", node_ref=OF_NODE), None, None, id="somebody deleted its node"),
        pytest.param(machine(phase="Failed"), None, None, id="failed without hardware"),
        pytest.param(provided(phase="Failed"), node_of(machine()), None, id="failed with a node"),
        pytest.param(deleted(phase="Running"), node_of(machine()), UpdatePhase("Deleting"), id="deleted"),
        pytest.param(deleted(phase="Failed"), None, UpdatePhase("Deleting"), id="deleted when failed"),
        pytest.param(
            machine(phase="Provisioning", is_deleted=True),
            None,
            UpdatePhase("Deleting"),
            id="deleted while provisioning",
        ),
        pytest.param(
            deleted(phase="Deleting"), node_of(machine()), DeleteNode(UID), id="its hardware is gone"
        ),
        pytest.param(
            deleted(phase="Deleting"),
            node_of(machine(), is_deleted=True),
            None,
            id="a finalizer keeps its node",
        ),
        pytest.param(deleted(phase="Deleting"), None, SetFinalizers(()), id="its node is gone"),
        pytest.param(
            deleted(phase="Deleting", finalizers=("other", FINALIZER)),
            None,
            SetFinalizers(("other",)),
            id="its node is gone and others keep it",
        ),
        pytest.param(deleted(phase="Deleting", finalizers=("other",)), None, None, id="others keep it"),
        pytest.param(deleted(phase="Running", finalizers=("other",)), None, None, id="was never ours"),
    ],
)
def test_next_step(seen: MachineObject, node: Node | None, step: Step | None) -> None:
    assert next_step(OPENSHIFT, seen, node, CREATED, provisioning=MINUTE) == step


def test_node_is_called_otherwise_than_its_machine_and_otherwise_for_each() -> None:
    first, second = machine("workers-abcde"), machine("workers-fghij")
    assert len({first.metadata.name, second.metadata.name, first.node_name, second.node_name}) == 4


@pytest.mark.parametrize("api", [OPENSHIFT, CLUSTER_API], ids=lambda api: type(api).__name__)
@pytest.mark.parametrize(
    ("seen", "has_node", "step"),
    [
        pytest.param(deleted(phase="Running"), True, UpdatePhase("Deleting"), id="deleted"),
        pytest.param(deleted(phase="Deleting"), True, DeleteNode(UID), id="its hardware is gone"),
        pytest.param(deleted(phase="Deleting"), False, SetFinalizers(()), id="its node is gone"),
        pytest.param(provided(phase="Failed"), True, None, id="failed"),
        pytest.param(provided(phase="Provisioned"), False, None, id="waits for its node"),
        pytest.param(
            machine(phase="Provisioning", age=MINUTE), False, CreateNode(), id="its provider is done"
        ),
    ],
)
def test_steps_without_a_link_are_those_of_both_apis(
    api: MachineApi, seen: MachineObject, step: Step | None, *, has_node: bool
) -> None:
    metadata = seen.metadata.model_copy(update={"finalizers": (api.finalizer,)})
    ours = seen.model_copy(update={"metadata": metadata})
    assert next_step(api, ours, node_of(ours) if has_node else None, CREATED, MINUTE) == step


def test_machine_of_cluster_api_is_linked_to_its_node_by_name_alone() -> None:
    finalizers = (CLUSTER_API.finalizer,)
    provided_one = provided(phase="Provisioned", finalizers=finalizers)
    node, name = node_of(provided_one), {"name": provided_one.node_name}
    linked = provided(phase="Running", node_ref=name, finalizers=finalizers)
    reference = ReferencedNode(name=provided_one.node_name)
    assert next_step(CLUSTER_API, provided_one, node, CREATED, MINUTE) == UpdatePhase("Running", reference)
    assert next_step(CLUSTER_API, linked, node, CREATED, MINUTE) is None


def test_status_says_when_it_was_written_and_keeps_the_node_that_it_does_not_name() -> None:
    assert OPENSHIFT.status(UpdatePhase("Deleting"), {}, CREATED) == {
        "phase": "Deleting",
        "lastUpdated": "2026-01-02T03:00:00Z",
    }
    assert OPENSHIFT.status(UpdatePhase("Running", REFERENCE), {}, CREATED)["nodeRef"] == OF_NODE


def test_link_is_for_the_node_that_was_seen_alone() -> None:
    assert link(machine(labels_of_node=ZONE), UID)["metadata"] == {
        "uid": UID,
        "annotations": {"machine.openshift.io/machine": FULL_NAME},
        "labels": ZONE,
    }
