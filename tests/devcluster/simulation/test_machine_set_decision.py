from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from devcluster.simulation.machine_api import MachineObject, MachineSetObject, MachineSetStatus
from devcluster.simulation.machines import (
    Create,
    Delete,
    SetStep,
    UpdateReplicas,
    new_machine,
    next_set_step,
)
from tests.devcluster.simulation.machine_objects import (
    CLUSTER_API,
    OPENSHIFT,
    SET_UID,
    machine,
    machine_set,
    stored_machine_set,
)


def ours(name: str, **fields: Any) -> MachineObject:
    """A Machine of the set, with a node of the same name."""
    return machine(name, owner=SET_UID, **{"phase": "Running", "node_ref": {"name": name}, **fields})


A, B, C = ours("a"), ours("b"), ours("c")
GOING = ours("d", is_deleted=True, phase="Deleting")
NEW = ours("e", phase="Provisioning", node_ref=None)
YOUNG, OLD = ours("f"), ours("g", age=timedelta(hours=1))


def shown(replicas: int, ready: int) -> dict[str, int]:
    return {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready}


def numbers(replicas: int, ready: int) -> UpdateReplicas:
    return UpdateReplicas(MachineSetStatus.model_validate(shown(replicas, ready)))


@pytest.mark.parametrize(
    ("wants", "machines", "step"),
    [
        pytest.param(machine_set(3), [], Create(3), id="new"),
        pytest.param(machine_set(3), [A], Create(2), id="killed while it made them"),
        pytest.param(machine_set(1), [machine("other")], Create(1), id="Machine of nobody"),
        pytest.param(
            machine_set(1), [machine("other", owner="uid-of-another")], Create(1), id="Machine of another set"
        ),
        pytest.param(machine_set(2), [A, GOING], numbers(2, 1), id="one goes and is not replaced yet"),
        pytest.param(machine_set(2), [A], Create(1), id="one is gone"),
        pytest.param(machine_set(2), [A, B], numbers(2, 2), id="complete"),
        pytest.param(machine_set(2), [A, NEW], numbers(2, 1), id="one has no node yet"),
        pytest.param(machine_set(2), [A, OLD], numbers(2, 1), id="the node of one is not ready"),
        pytest.param(machine_set(0), [], numbers(0, 0), id="none wanted"),
        pytest.param(machine_set(2, status=shown(2, 2)), [A, B], None, id="says so already"),
        pytest.param(machine_set(2, status=shown(2, 1)), [A, B], numbers(2, 2), id="says something else"),
        pytest.param(machine_set(2), [A, B, NEW], Delete((NEW,)), id="the one without a node goes"),
        pytest.param(machine_set(1), [OLD, YOUNG], Delete((YOUNG,)), id="the youngest goes"),
        pytest.param(machine_set(1), [C, B, A], Delete((A, B)), id="of those alike the first go"),
        pytest.param(machine_set(1), [A, GOING], numbers(2, 1), id="one goes already"),
        pytest.param(machine_set(0), [A, GOING], Delete((A,)), id="one goes already and another must"),
        pytest.param(machine_set(3, is_deleted=True), [A], None, id="goes itself"),
    ],
)
def test_next_step(wants: MachineSetObject, machines: Sequence[MachineObject], step: SetStep | None) -> None:
    assert next_set_step(wants, machines, ready_nodes={"a", "b", "c", "f"}) == step


def test_machine_of_a_set_is_made_from_its_template() -> None:
    made = new_machine(OPENSHIFT, stored_machine_set(1), "x7k2p")
    assert (made["apiVersion"], made["kind"]) == ("machine.openshift.io/v1beta1", "Machine")
    assert made["spec"] == {"providerSpec": {"value": {"size": "large"}}}
    metadata = made["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("machines", "workers-x7k2p")
    assert metadata["labels"] == {"pool": "workers"}
    assert metadata["finalizers"] == ["machine.machine.openshift.io"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("MachineSet", SET_UID, True)


def test_machine_of_cluster_api_also_names_its_cluster_and_its_set() -> None:
    made = new_machine(CLUSTER_API, stored_machine_set(1), "x7k2p")
    assert (made["apiVersion"], made["kind"]) == ("cluster.x-k8s.io/v1beta2", "Machine")
    assert made["spec"] == {"clusterName": "east", "providerSpec": {"value": {"size": "large"}}}
    assert made["metadata"]["labels"] == {
        "pool": "workers",
        "cluster.x-k8s.io/cluster-name": "east",
        "cluster.x-k8s.io/set-name": "workers",
    }
    assert made["metadata"]["finalizers"] == ["machine.cluster.x-k8s.io"]
