"""The owner of marked Machines of Cluster API deletes and replaces them."""

import pytest

from devcluster.simulation.machine_api import (
    MachineCondition,
    MachineObject,
    MachineSetStatus,
    Version,
    deletion,
    with_condition,
)
from devcluster.simulation.machines import Replace, SetStep, Unmark, UpdateReplicas, next_set_step
from tests.devcluster.simulation.machine_objects import (
    CREATED,
    SET_UID,
    SINCE,
    condition,
    machine,
    machine_set,
)

FAILED, HEALTHY = condition("HealthCheckSucceeded", "False"), condition("HealthCheckSucceeded", "True")
ASKED = condition("OwnerRemediated", "False", "WaitingForRemediation")
DELETING = condition("OwnerRemediated", "False", "MachineDeleting")
MARKED = machine("marked", owner=SET_UID, conditions=(FAILED, ASKED))
RECOVERED = machine("recovered", owner=SET_UID, conditions=(HEALTHY, ASKED))


def counted(replicas: int) -> UpdateReplicas:
    """The step of a set whose Machines are not to be changed."""
    return UpdateReplicas(MachineSetStatus(replicas=replicas, ready_replicas=0, available_replicas=0))


@pytest.mark.parametrize(
    ("conditions", "is_deleted", "step"),
    [
        pytest.param((HEALTHY,), False, counted(1), id="healthy"),
        pytest.param((FAILED,), False, counted(1), id="unhealthy and not marked"),
        pytest.param((ASKED,), False, counted(1), id="marked and never checked"),
        pytest.param((FAILED, ASKED), False, Replace(MARKED), id="marked"),
        pytest.param((FAILED, DELETING), True, counted(1), id="is being deleted"),
        pytest.param((HEALTHY, ASKED), False, Unmark(RECOVERED), id="recovered before its turn"),
        pytest.param((HEALTHY, DELETING), True, counted(1), id="recovered too late"),
    ],
)
def test_next_step_for_marked_machines(
    conditions: tuple[dict[str, str], ...],
    is_deleted: bool,  # noqa: FBT001  a column of the table
    step: SetStep,
) -> None:
    name = "recovered" if HEALTHY in conditions else "marked"
    seen = machine(name, owner=SET_UID, conditions=conditions, is_deleted=is_deleted)
    assert next_set_step(machine_set(1), [seen], set(), replaces_marked=True) == step
    assert next_set_step(machine_set(1), [seen], set()) == counted(1)


def test_set_replaces_its_own_marked_machines_only() -> None:
    other: MachineObject = machine("other", owner="another", conditions=(FAILED, ASKED))
    mine = machine("mine", owner=SET_UID)
    assert next_set_step(machine_set(1), [other, mine], set(), replaces_marked=True) == counted(1)


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
