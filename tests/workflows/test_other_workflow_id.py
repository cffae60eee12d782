"""A copy under another workflow id fails in its first task, before any effect."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from health.model.moves import Phase
from health.runbook.state import Memory
from tests.support.story.incident import IncidentDriver
from tests.support.story.upgrading import Upgrading
from tests.support.values.observations import expired, held
from workflows.contracts import worker_queue
from workflows.kit import WRONG_ID, RunInput
from workflows.messages import WORKFLOW, RemediationInput
from workflows.upgrade_contracts import UPGRADE_PAUSE, UnpauseOrder, UpgradePauseInput
from workflows.upgrade_pause import UpgradePause

pytestmark = pytest.mark.rule("rule 8/workflow")

Copy = Callable[[str], str]
COPIES: dict[str, Copy] = {
    "a suffix": lambda own: f"{own}-copy",
    "another target": lambda own: own.replace("node-1", "node-2"),
    "a word": lambda own: f"by-hand-{own[-8:]}",
}


async def must_fail_at_once(handle: WorkflowHandle[Any, Any], own: str) -> None:
    with pytest.raises(WorkflowFailureError) as failed:
        await handle.result()
    assert getattr(failed.value.cause, "type", None) == WRONG_ID
    message = f"nothing was done: the workflow of this subject is {own}, and this one is {handle.id}"
    assert str(failed.value.cause) == f"{WRONG_ID}: {message}"
    events = [event.event_type for event in (await handle.fetch_history()).events]
    assert events.count(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED) == 1
    assert EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED not in events
    assert (await handle.describe()).status is WorkflowExecutionStatus.FAILED


async def started(
    incident: IncidentDriver, type_: str, start: RunInput, workflow_id: str
) -> WorkflowHandle[Any, Any]:
    queue = worker_queue(incident.name)
    return await incident.client.start_workflow(type_, start, id=workflow_id, task_queue=queue)


@pytest.mark.rule("rule 40")
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
async def test_copy_of_an_incident_makes_nothing_for_a_node_that_a_person_has_taken_out(
    incident: IncidentDriver, copied: Copy
) -> None:
    own = incident.reference.workflow_id
    await incident.start(expired())
    await incident.reaches(Phase.REMEDIATING)
    await incident.abort()
    await incident.reaches(Phase.LEFT_ALONE)
    copy = await started(incident, WORKFLOW, await incident.start_input(), copied(own))
    await must_fail_at_once(copy, own)

    assert incident.cluster.count("act") == 1
    assert await incident.is_open()


async def test_copy_of_a_run_that_was_carried_on_fails_as_well(incident: IncidentDriver) -> None:
    await incident.start(held())
    own = incident.reference.workflow_id
    told = RemediationInput(incident=incident.reference, memory=Memory(has_acted=True), continues="a-run")
    await must_fail_at_once(await started(incident, WORKFLOW, told, f"{own}-copy"), own)


async def test_copy_of_an_upgrade_pause_does_not_pause_again_what_a_person_unpaused(
    time_skipping: WorkflowEnvironment,
) -> None:
    upgrading = Upgrading(time_skipping, f"test-{uuid4().hex[:8]}")
    async with upgrading.detector(), upgrading.worker():
        await upgrading.start()
        await upgrading.rests()
        order = UnpauseOrder(check="machines/a")
        await upgrading.handle.execute_update(UpgradePause.unpause, order)
        upgrading.edit("a", "")
        copy = await upgrading.client.start_workflow(
            UPGRADE_PAUSE,
            UpgradePauseInput(cluster=upgrading.cluster),
            id=f"{upgrading.workflow_id}-copy",
            task_queue=worker_queue(upgrading.cluster),
        )
        await must_fail_at_once(copy, upgrading.workflow_id)
        await upgrading.handle.terminate()

    assert upgrading.annotations() == {"a": "", "b": "PM"}
