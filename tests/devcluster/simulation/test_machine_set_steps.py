"""A MachineSet creates, deletes and counts its Machines; on Cluster API it also replaces marked ones."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from devcluster.simulation.machine_api import (
    MachineApi,
    MachineCondition,
    MachineObject,
    Version,
    deletion,
    with_condition,
)
from devcluster.simulation.machines import MachineController, new_machine
from kube.resource import Object
from tests.devcluster.simulation.machine_objects import (
    CLUSTER_API,
    CREATED,
    OPENSHIFT,
    SET_UID,
    SINCE,
    condition,
    machine,
    machine_set,
)
from tests.devcluster.simulation.recorded_client import RecordedClient


def ours(name: str, **fields: Any) -> MachineObject:
    """A Machine of the set, with a node of the same name."""
    return machine(name, owner=SET_UID, **{"phase": "Running", "node_ref": {"name": name}, **fields})


A, B, C = ours("a"), ours("b"), ours("c")
GOING = ours("d", is_deleted=True, phase="Deleting")
NEW = ours("e", phase="Provisioning", node_ref=None)
YOUNG, OLD = ours("f"), ours("g", age=timedelta(hours=1))
MAKE = "create Machine"


def shown(replicas: int, ready: int) -> dict[str, int]:
    return {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready}


async def advanced(
    api: MachineApi, wants: Object, machines: Sequence[MachineObject], **stored: Object
) -> list[str]:
    """The writes of one step, where the nodes a, b, c and f are ready."""
    recorded = RecordedClient(**stored)
    controller = MachineController(
        api=api, management=recorded.client, workload=recorded.client, provisioning=timedelta()
    )
    await controller.advance_set(wants, machines, {"a", "b", "c", "f"}, CREATED)
    return recorded.writes


@pytest.mark.parametrize(
    ("wants", "machines", "writes"),
    [
        pytest.param(machine_set(3), [], [MAKE] * 3, id="new"),
        pytest.param(machine_set(3), [A], [MAKE] * 2, id="killed while it made them"),
        pytest.param(machine_set(1), [machine("other")], [MAKE], id="Machine without an owner"),
        pytest.param(
            machine_set(1), [machine("other", owner="uid-of-another")], [MAKE], id="Machine of another set"
        ),
        pytest.param(
            machine_set(2), [A, GOING], ["workers: 1 of 2 are ready"], id="one goes and is not replaced yet"
        ),
        pytest.param(machine_set(2), [A], [MAKE], id="one is gone"),
        pytest.param(machine_set(2), [A, B], ["workers: 2 of 2 are ready"], id="complete"),
        pytest.param(machine_set(2), [A, NEW], ["workers: 1 of 2 are ready"], id="one has no node yet"),
        pytest.param(
            machine_set(2), [A, OLD], ["workers: 1 of 2 are ready"], id="the node of one is not ready"
        ),
        pytest.param(machine_set(0), [], ["workers: 0 of 0 are ready"], id="none wanted"),
        pytest.param(machine_set(2, status=shown(2, 2)), [A, B], [], id="says so already"),
        pytest.param(
            machine_set(2, status=shown(2, 1)),
            [A, B],
            ["workers: 2 of 2 are ready"],
            id="says something else",
        ),
        pytest.param(machine_set(2), [A, B, NEW], ["delete Machine e"], id="the one without a node goes"),
        pytest.param(machine_set(1), [OLD, YOUNG], ["delete Machine f"], id="the youngest goes"),
        pytest.param(
            machine_set(1),
            [C, B, A],
            ["delete Machine a", "delete Machine b"],
            id="of those alike the first go",
        ),
        pytest.param(machine_set(1), [A, GOING], ["workers: 1 of 2 are ready"], id="one goes already"),
        pytest.param(
            machine_set(0), [A, GOING], ["delete Machine a"], id="one goes already and another must"
        ),
        pytest.param(machine_set(3, is_deleted=True), [A], [], id="goes itself"),
    ],
)
async def test_next_step(wants: Object, machines: Sequence[MachineObject], writes: list[str]) -> None:
    assert await advanced(OPENSHIFT, wants, machines) == writes


FAILED, HEALTHY = condition("HealthCheckSucceeded", "False"), condition("HealthCheckSucceeded", "True")
ASKED = condition("OwnerRemediated", "False", "WaitingForRemediation")
DELETING = condition("OwnerRemediated", "False", "MachineDeleting")
COUNTED = ["workers: 0 of 1 are ready"]
REPLACED = [
    "one: HealthCheckSucceeded=False , OwnerRemediated=False MachineDeleting",
    "delete Machine one",
]


@pytest.mark.parametrize(
    ("conditions", "is_deleted", "writes"),
    [
        pytest.param((HEALTHY,), False, COUNTED, id="healthy"),
        pytest.param((FAILED,), False, COUNTED, id="unhealthy and not marked"),
        pytest.param((ASKED,), False, COUNTED, id="marked and never checked"),
        pytest.param((FAILED, ASKED), False, REPLACED, id="marked"),
        pytest.param((FAILED, DELETING), True, COUNTED, id="is being deleted"),
        pytest.param(
            (HEALTHY, ASKED), False, ["one: HealthCheckSucceeded=True "], id="recovered before its turn"
        ),
        pytest.param((HEALTHY, DELETING), True, COUNTED, id="recovered too late"),
    ],
)
async def test_next_step_for_marked_machines(
    conditions: tuple[dict[str, str], ...],
    is_deleted: bool,  # noqa: FBT001  a column of the table
    writes: list[str],
) -> None:
    seen = machine("one", owner=SET_UID, conditions=conditions, is_deleted=is_deleted)
    stored = {"status": {"conditions": list(conditions)}}
    assert await advanced(CLUSTER_API, machine_set(1), [seen], one=stored) == writes
    assert await advanced(OPENSHIFT, machine_set(1), [seen]) == COUNTED


async def test_set_replaces_its_own_marked_machines_only() -> None:
    other = machine("other", owner="another", conditions=(FAILED, ASKED))
    mine = machine("mine", owner=SET_UID)
    assert await advanced(CLUSTER_API, machine_set(1), [other, mine]) == COUNTED


@pytest.mark.parametrize(
    ("version", "said", "written"),
    [
        pytest.param(
            "v1beta2",
            deletion("v1beta2"),
            {"status": "False", "reason": "MachineDeleting", "lastTransitionTime": SINCE},
            id="v1beta2 deletion",
        ),
        pytest.param(
            "v1beta1",
            deletion("v1beta1"),
            {"status": "True", "reason": "MachineDeleting", "lastTransitionTime": "2026-01-02T03:00:00Z"},
            id="v1beta1 deletion",
        ),
        pytest.param(
            "v1beta1",
            MachineCondition(type="OwnerRemediated", status="False", reason="RemediationDeferred"),
            {"status": "False", "reason": "RemediationDeferred", "severity": "Warning"},
            id="v1beta1 deferral",
        ),
    ],
)
def test_condition_of_the_owner_has_the_form_of_the_version_and_leaves_others_alone(
    version: Version, said: MachineCondition, written: dict[str, str]
) -> None:
    *others, last = with_condition([ASKED, FAILED], said, version, CREATED)
    assert others == [FAILED]
    assert last.items() >= ({"type": "OwnerRemediated"} | written).items()
    assert ("severity" in last) == ("severity" in written)


def test_machine_of_a_set_is_made_from_its_template() -> None:
    made = new_machine(OPENSHIFT, machine_set(1), "x7k2p")
    assert (made["apiVersion"], made["kind"]) == ("machine.openshift.io/v1beta1", "Machine")
    assert made["spec"] == {"providerSpec": {"value": {"size": "large"}}}
    metadata = made["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("machines", "workers-x7k2p")
    assert metadata["labels"] == {"pool": "workers"}
    assert metadata["finalizers"] == ["machine.machine.openshift.io"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("MachineSet", SET_UID, True)


def test_machine_of_cluster_api_also_names_its_cluster_and_its_set() -> None:
    made = new_machine(CLUSTER_API, machine_set(1), "x7k2p")
    assert (made["apiVersion"], made["kind"]) == ("cluster.x-k8s.io/v1beta2", "Machine")
    assert made["spec"] == {"clusterName": "east", "providerSpec": {"value": {"size": "large"}}}
    assert made["metadata"]["labels"] == {
        "pool": "workers",
        "cluster.x-k8s.io/cluster-name": "east",
        "cluster.x-k8s.io/set-name": "workers",
    }
    assert made["metadata"]["finalizers"] == ["machine.cluster.x-k8s.io"]
