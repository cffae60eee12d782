import time
from datetime import timedelta

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker


@workflow.defn
class Sleeper:
    @workflow.run
    async def run(self) -> float:
        began = workflow.now()
        await workflow.sleep(timedelta(hours=1))
        return (workflow.now() - began) / timedelta(hours=1)


async def test_an_hour_passes_for_one_workflow_and_no_other(time_skipping: WorkflowEnvironment) -> None:
    client = time_skipping.client
    began = time.monotonic()
    async with Worker(client, task_queue="sleepers", workflows=[Sleeper]):
        moved = await client.start_workflow(Sleeper.run, id="moved", task_queue="sleepers")
        unmoved = await client.start_workflow(Sleeper.run, id="unmoved", task_queue="sleepers")
        assert not await time_skipping.fast_forward(moved, timedelta(hours=2))  # it ended on the way
        hours = await moved.result()
        status = (await unmoved.describe()).status
        await unmoved.terminate()
    assert 1 <= hours < 1.1
    assert status is not None
    assert status.name == "RUNNING"
    assert time.monotonic() - began < 60
