"""The owner of marked Machines of Cluster API deletes and replaces them."""

from datetime import timedelta

import pytest

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_object import (
    MachineCondition,
    MachineObject,
    Version,
    deletion,
    with_condition,
)
from devcluster.simulation.machine_set_upkeep import REMEDIATE, Defer, Replace, Step, Unmark, next_of_marked
from tests.devcluster.simulation.machine_objects import CREATED, SINCE, condition, machine

FAILED, HEALTHY = condition("HealthCheckSucceeded", "False"), condition("HealthCheckSucceeded", "True")
ASKED = condition("OwnerRemediated", "False", "WaitingForRemediation")
DELETING = condition("OwnerRemediated", "False", "MachineDeleting")
FULL = (
    "Waiting because there are already too many remediations in progress "
    "(spec.strategy.remediation.maxInFlight is 1)"
)
DEFERRED = condition("OwnerRemediated", "False", "RemediationDeferred", FULL)

QUIET = machine("quiet", conditions=(HEALTHY,))
MARKED = machine("marked", conditions=(FAILED, ASKED))
OLDER = machine("older", conditions=(FAILED, ASKED), age=timedelta(hours=1))
WANTED = machine("wanted", conditions=(FAILED, ASKED), age=timedelta(days=1), annotations={REMEDIATE: ""})
TOLD = machine("told", conditions=(FAILED, DEFERRED))
GOING = machine("going", conditions=(FAILED, DELETING), is_deleted=True)


@pytest.mark.parametrize(
    ("machines", "limit", "step"),
    [
        pytest.param([], None, NoAction(), id="none"),
        pytest.param([QUIET], None, NoAction(), id="healthy"),
        pytest.param([machine("a", conditions=(FAILED,))], None, NoAction(), id="unhealthy and not marked"),
        pytest.param([machine("a", conditions=(ASKED,))], None, NoAction(), id="marked and never checked"),
        pytest.param([MARKED], None, Replace(MARKED), id="marked"),
        pytest.param([OLDER, MARKED], None, Replace(MARKED), id="the newest first"),
        pytest.param([OLDER, MARKED, WANTED], None, Replace(WANTED), id="before it who a person asked for"),
        pytest.param([GOING], None, NoAction(), id="goes already"),
        pytest.param([GOING, MARKED], None, Replace(MARKED), id="another one goes already"),
        pytest.param([GOING, MARKED], 2, Replace(MARKED), id="there is room"),
        pytest.param([GOING, MARKED], 1, Defer(MARKED, FULL), id="there is no room"),
        pytest.param([GOING, TOLD], 1, NoAction(), id="knows that there is no room"),
        pytest.param([TOLD], 1, Replace(TOLD), id="there is room again"),
        pytest.param(
            [machine("a", conditions=(HEALTHY, ASKED))],
            None,
            Unmark(machine("a", conditions=(HEALTHY, ASKED))),
            id="recovered before its turn",
        ),
        pytest.param(
            [machine("a", conditions=(HEALTHY, DELETING), is_deleted=True)], None, NoAction(), id="too late"
        ),
    ],
)
def test_next_step_for_marked_machines(machines: list[MachineObject], limit: int | None, step: Step) -> None:
    assert next_of_marked(machines, limit) == step


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
