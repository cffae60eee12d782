"""The parts of workflows, tested with one that is no Remediation: finished calls, orders, wakes and runs."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry
from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.support.api.eventually import eventually
from tests.support.story.fake_cluster import Gate
from tests.support.story.sandbox import workflow_runner
from tests.workflows.pool_pause import (
    GO_ON,
    OBSERVE,
    PAUSE,
    EndOrder,
    PauseOrder,
    Pool,
    PoolPause,
    PoolPauseInput,
)
from worker.metrics_interceptor import MetricsInterceptor
from worker.worker_metrics import WorkerMetrics

A_DAY = timedelta(days=1)


class Pools:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.gate = Gate()
        self.is_upgraded = False
        self.observed = 0

    @activity.defn(name=OBSERVE.name)
    async def observe(self, pool: Pool) -> Pool:
        self.observed += 1
        return pool.model_copy(update={"is_upgraded": self.is_upgraded})

    @activity.defn(name=PAUSE.name)
    async def pause(self, pool: Pool) -> Pool:
        await self.gate.pass_through()
        self.log.append(f"{pool.name} is paused")
        return pool

    @activity.defn(name=GO_ON.name)
    async def go_on(self, pool: Pool) -> Pool:
        self.log.append(f"{pool.name} goes on")
        return pool


@pytest.fixture
def pools() -> Pools:
    return Pools()


Handle = WorkflowHandle[PoolPause, str]


@pytest.fixture
async def pause(short_histories: WorkflowEnvironment, pools: Pools) -> AsyncIterator[Handle]:
    client, queue = short_histories.client, f"test-{uuid4()}"
    async with Worker(
        client,
        task_queue=queue,
        workflows=[PoolPause],
        activities=[pools.observe, pools.pause, pools.go_on],
        interceptors=[MetricsInterceptor(WorkerMetrics(CollectorRegistry()))],  # as in our worker
        workflow_runner=workflow_runner(),
    ):
        start = PoolPauseInput(pool=Pool(name="a"))
        yield await client.start_workflow(PoolPause.run, start, id=queue, task_queue=queue)


async def test_call_is_finished_under_a_cancel_which_is_obeyed_then(pools: Pools, pause: Handle) -> None:
    pools.gate.close()
    await pools.gate.entered.wait()
    await pause.cancel()
    await pause.execute_update(PoolPause.pause, PauseOrder(reason="too late"))
    assert pools.log == []
    pools.gate.open()

    assert await pause.result() == "cancelled"
    assert pools.log == ["a is paused", "a goes on"]


async def test_order_is_obeyed_at_the_next_step(pools: Pools, pause: Handle) -> None:
    await pause.signal(PoolPause.end, EndOrder(reason="the upgrade is done"))

    assert await pause.result() == "the upgrade is done"
    assert pools.log == ["a is paused", "a goes on"]


async def test_order_stands_for_its_time(
    short_histories: WorkflowEnvironment, pools: Pools, pause: Handle
) -> None:
    until = await pause.execute_update(PoolPause.pause, PauseOrder(for_seconds=A_DAY.total_seconds()))
    started = (await pause.describe()).start_time
    assert until - started >= A_DAY
    await short_histories.fast_forward(pause, A_DAY + timedelta(minutes=1))

    assert await pause.result() == "pause was ordered"
    assert pools.log == ["a is paused", "a goes on"]


async def wake(pools: Pools, pause: Handle) -> None:
    before = pools.observed
    await pause.signal(PoolPause.wake)
    await eventually(lambda: pools.observed > before)


async def test_wake_is_answered_by_another_observation_and_what_is_remembered_goes_from_run_to_run(
    pools: Pools, pause: Handle
) -> None:
    begun = await pause.describe()
    until = await pause.execute_update(PoolPause.pause, PauseOrder(for_seconds=A_DAY.total_seconds()))
    while (await pause.describe()).run_id == begun.run_id:
        await wake(pools, pause)

    assert await pause.execute_update(PoolPause.pause, PauseOrder()) == until
    assert pools.log == ["a is paused"]
    pools.is_upgraded = True
    await wake(pools, pause)
    assert await pause.result() == "upgraded"
    assert pools.log == ["a is paused", "a goes on"]
