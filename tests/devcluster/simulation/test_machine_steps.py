from datetime import timedelta
from typing import Any

import pytest

from devcluster.simulation.machine_api import MachineApi, MachineObject, ReferencedNode
from devcluster.simulation.machines import MachineController
from health.model.node import Node
from tests.devcluster.simulation.machine_objects import CLUSTER_API, CREATED, OPENSHIFT, machine, node_of
from tests.devcluster.simulation.recorded_client import RecordedClient

FINALIZER = OPENSHIFT.finalizer
MINUTE = timedelta(minutes=1)
FULL_NAME = "machines/workers-abcde"
NAME, UID, NODE = "workers-abcde", "uid-of-the-node", machine().node_name
OF_NODE = {"kind": "Node", "name": NODE, "uid": UID}
ZONE = {"zone": "a"}
NEW_HARDWARE = ["create Node", f"{NAME}: provider ID"]


def provided(**fields: Any) -> MachineObject:
    return machine(provider_id="simulated://x", **fields)


def deleted(**fields: Any) -> MachineObject:
    """A Machine under deletion that only finalizers keep."""
    return provided(is_deleted=True, **fields)


async def advanced(api: MachineApi, seen: MachineObject, node: Node | None) -> RecordedClient:
    recorded = RecordedClient()
    controller = MachineController(
        api=api, management=recorded.client, workload=recorded.client, provisioning=MINUTE
    )
    await controller.advance(seen, {}, node, CREATED)
    return recorded


@pytest.mark.parametrize(
    ("seen", "node", "writes"),
    [
        pytest.param(machine(finalizers=()), None, [f"finalizers {FINALIZER}"], id="without our finalizer"),
        pytest.param(
            machine(finalizers=("other",)),
            None,
            [f"finalizers other, {FINALIZER}"],
            id="with the finalizer of others",
        ),
        pytest.param(machine(), None, ["Provisioning"], id="new"),
        pytest.param(machine(phase="Provisioning"), None, [], id="its provider has just begun"),
        pytest.param(machine(phase="Provisioning", age=MINUTE / 4), None, [], id="its provider works"),
        pytest.param(
            machine(phase="Provisioning", age=MINUTE), None, NEW_HARDWARE, id="its provider is done"
        ),
        pytest.param(provided(phase="Provisioning"), None, ["Provisioned"], id="has its hardware"),
        pytest.param(provided(), None, ["Provisioned"], id="came with its hardware"),
        pytest.param(
            provided(phase="Provisioning"),
            node_of(machine()),
            ["Provisioned"],
            id="its node was faster than we",
        ),
        pytest.param(provided(phase="Provisioned"), None, [], id="waits for its node"),
        pytest.param(
            provided(phase="Provisioned"), node_of(machine()), [f"link {UID}"], id="node registered"
        ),
        pytest.param(
            provided(phase="Provisioned"),
            node_of(machine(), annotation="machines/another"),
            [f"link {UID}"],
            id="node of another Machine",
        ),
        pytest.param(
            provided(phase="Provisioned", labels_of_node=ZONE),
            node_of(machine(), annotation=FULL_NAME, labels={"zone": "b"}),
            [f"link {UID}"],
            id="node without its labels",
        ),
        pytest.param(
            provided(phase="Provisioned", labels_of_node=ZONE),
            node_of(machine(), annotation=FULL_NAME, labels=ZONE | {"os": "linux"}),
            [f"Running as {UID}"],
            id="node linked",
        ),
        pytest.param(
            provided(phase="Running", node_ref=OF_NODE),
            node_of(machine(), annotation=FULL_NAME),
            [],
            id="runs",
        ),
        pytest.param(
            provided(phase="Running", node_ref=OF_NODE | {"uid": "uid-of-the-node-before"}),
            node_of(machine(), annotation=FULL_NAME),
            [f"Running as {UID}"],
            id="its node was made anew",
        ),
        pytest.param(provided(phase="Running", node_ref=OF_NODE), None, [], id="its node was deleted"),
        pytest.param(machine(phase="Failed"), None, [], id="failed without hardware"),
        pytest.param(provided(phase="Failed"), node_of(machine()), [], id="failed with a node"),
        pytest.param(deleted(phase="Running"), node_of(machine()), ["Deleting"], id="deleted"),
        pytest.param(deleted(phase="Failed"), None, ["Deleting"], id="deleted when failed"),
        pytest.param(
            machine(phase="Provisioning", is_deleted=True),
            None,
            ["Deleting"],
            id="deleted while provisioning",
        ),
        pytest.param(
            deleted(phase="Deleting"), node_of(machine()), [f"delete Node {NODE}"], id="its hardware is gone"
        ),
        pytest.param(
            deleted(phase="Deleting"),
            node_of(machine(), is_deleted=True),
            [],
            id="a finalizer keeps its node",
        ),
        pytest.param(deleted(phase="Deleting"), None, ["finalizers "], id="its node is gone"),
        pytest.param(
            deleted(phase="Deleting", finalizers=("other", FINALIZER)),
            None,
            ["finalizers other"],
            id="its node is gone and others keep it",
        ),
        pytest.param(deleted(phase="Deleting", finalizers=("other",)), None, [], id="others keep it"),
        pytest.param(deleted(phase="Running", finalizers=("other",)), None, [], id="was never ours"),
    ],
)
async def test_next_step(seen: MachineObject, node: Node | None, writes: list[str]) -> None:
    found = (await advanced(OPENSHIFT, seen, node)).writes
    assert [write.removeprefix(f"{NAME}: ").removeprefix(f"{NODE}: ") for write in found] == [
        write.removeprefix(f"{NAME}: ") for write in writes
    ]


def test_node_is_called_otherwise_than_its_machine_and_otherwise_for_each() -> None:
    first, second = machine("workers-abcde"), machine("workers-fghij")
    assert len({first.metadata.name, second.metadata.name, first.node_name, second.node_name}) == 4


@pytest.mark.parametrize("api", [OPENSHIFT, CLUSTER_API], ids=lambda api: type(api).__name__)
@pytest.mark.parametrize(
    ("seen", "has_node", "writes"),
    [
        pytest.param(deleted(phase="Running"), True, [f"{NAME}: Deleting"], id="deleted"),
        pytest.param(deleted(phase="Deleting"), True, [f"delete Node {NODE}"], id="its hardware is gone"),
        pytest.param(deleted(phase="Deleting"), False, [f"{NAME}: finalizers "], id="its node is gone"),
        pytest.param(provided(phase="Failed"), True, [], id="failed"),
        pytest.param(provided(phase="Provisioned"), False, [], id="waits for its node"),
        pytest.param(
            machine(phase="Provisioning", age=MINUTE), False, NEW_HARDWARE, id="its provider is done"
        ),
    ],
)
async def test_steps_without_a_link_are_those_of_both_apis(
    api: MachineApi, seen: MachineObject, writes: list[str], *, has_node: bool
) -> None:
    metadata = seen.metadata.model_copy(update={"finalizers": (api.finalizer,)})
    ours = seen.model_copy(update={"metadata": metadata})
    assert (await advanced(api, ours, node_of(ours) if has_node else None)).writes == writes


async def test_machine_of_cluster_api_is_linked_to_its_node_by_name_alone() -> None:
    finalizers = (CLUSTER_API.finalizer,)
    provided_one = provided(phase="Provisioned", finalizers=finalizers)
    node, name = node_of(provided_one), {"name": provided_one.node_name}
    linked = provided(phase="Running", node_ref=name, finalizers=finalizers)
    assert (await advanced(CLUSTER_API, provided_one, node)).writes == [f"{NAME}: Running as {NODE}"]
    assert (await advanced(CLUSTER_API, linked, node)).writes == []


def test_status_says_when_it_was_written_and_keeps_the_node_that_it_does_not_name() -> None:
    assert OPENSHIFT.status("Deleting", None, {}, CREATED) == {
        "phase": "Deleting",
        "lastUpdated": "2026-01-02T03:00:00Z",
    }
    reference = ReferencedNode(name=NODE, uid=UID)
    assert OPENSHIFT.status("Running", reference, {}, CREATED)["nodeRef"] == OF_NODE


async def test_patch_of_a_machine_applies_only_to_the_version_that_was_read() -> None:
    for seen in (machine(), machine(finalizers=()), machine(phase="Provisioning", age=MINUTE)):
        (patch,) = (await advanced(OPENSHIFT, seen, None)).patches
        assert patch["metadata"]["resourceVersion"] == "7"


async def test_link_is_for_the_node_that_was_seen_alone() -> None:
    seen = provided(phase="Provisioned", labels_of_node=ZONE)
    (patch,) = (await advanced(OPENSHIFT, seen, node_of(seen))).patches
    assert patch["metadata"] == {
        "uid": UID,
        "annotations": {"machine.openshift.io/machine": FULL_NAME},
        "labels": ZONE,
    }
