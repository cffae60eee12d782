"""The worker measures how long an act waited: in a queue of Temporal, or for a slot of the worker."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from health.model.observation import HoldReason
from tests.activities.worker_activities import WorkerActivities
from tests.support.values.builders import incident_reference
from tests.support.values.observations import FACT, STEP
from workflows.contracts import ACT, ActInput, ActResult
from workflows.kit import call

pytestmark = pytest.mark.rule("rule 4")

PATIENCE = timedelta(seconds=0.5)


@workflow.defn
class ActOnce:
    @workflow.run
    async def run(self, act: ActInput) -> ActResult:
        return await call(ACT, act, ActResult, summary="acts")


class BusyWorker:
    """A worker with one slot, which the first act occupies until a test releases it."""

    def __init__(self, worker: WorkerActivities) -> None:
        self._worker = worker
        self.is_busy = asyncio.Event()
        self.goes_on = asyncio.Event()

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        if self.is_busy.is_set():
            info = activity.info()
            return await self._worker.act(act, waited=info.started_time - info.scheduled_time)
        self.is_busy.set()
        await self.goes_on.wait()
        return ActResult.lost()


async def test_act_that_waited_too_long_for_a_slot_of_the_worker_is_refused(
    time_skipping: WorkflowEnvironment, worker_in_the_dark: WorkerActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.attempt.FRESH", PATIENCE)
    client, queue, busy = time_skipping.client, f"queue-{uuid4()}", BusyWorker(worker_in_the_dark)
    asked = ActInput(incident=incident_reference("test"), run_id="run-1", step=STEP, fact=FACT, generation=1)
    async with Worker(
        client,
        task_queue=queue,
        workflows=[ActOnce],
        activities=[busy.act],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_activities=1,
    ):
        first = await client.start_workflow(ActOnce.run, asked, id=str(uuid4()), task_queue=queue)
        await busy.is_busy.wait()
        second = await client.start_workflow(ActOnce.run, asked, id=str(uuid4()), task_queue=queue)
        asyncio.get_running_loop().call_later(3 * PATIENCE.total_seconds(), busy.goes_on.set)
        await first.result()
        hold = (await second.result()).hold
    assert hold is not None
    assert hold.reason is HoldReason.STALE_FACTS
    assert "waited" in hold.message
