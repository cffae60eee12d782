import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from devcluster.errors import SimulationError
from devcluster.polling import until
from devcluster.simulation.controller import Controller
from kube.record import Key

KEY = Key("default", "one")
HOUR = timedelta(hours=1)


class Work:
    """Counts how often it is done, and waits where a test says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.at_once = 0
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.fails = False
        self.again: timedelta | None = None

    async def do(self, _: Key) -> timedelta | None:
        self.begun += 1
        self.at_once += 1
        try:
            await self.may_end.wait()
        finally:
            self.at_once -= 1
        if self.fails:
            self.fails = False
            raise SimulationError("not now")
        return self.again

    async def until_begun(self, times: int) -> None:
        async def has_begun() -> bool:
            return self.begun >= times

        await until(has_begun, within=timedelta(seconds=60), otherwise=f"it began {self.begun} times")


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def controller(work: Work) -> AsyncIterator[Controller]:
    ready: asyncio.Future[Controller] = asyncio.get_running_loop().create_future()

    async def process() -> None:
        async with asyncio.TaskGroup() as tasks:
            ready.set_result(Controller("object", work.do, tasks))
            await asyncio.Event().wait()

    running = asyncio.create_task(process())
    yield await ready
    running.cancel()
    await asyncio.wait([running])


async def test_changes_during_the_work_lead_to_it_once_more_and_never_twice_at_once(
    controller: Controller, work: Work
) -> None:
    work.may_end.clear()
    controller.enqueue(KEY)
    await work.until_begun(1)
    for _ in range(3):
        controller.enqueue(KEY)
    assert work.at_once == 1
    work.may_end.set()
    await work.until_begun(2)
    for _ in range(10):
        await asyncio.sleep(0)
    assert work.begun == 2


async def test_object_is_looked_at_again_when_its_work_said_so(controller: Controller, work: Work) -> None:
    work.again = timedelta(milliseconds=1)
    controller.enqueue(KEY)
    await work.until_begun(3)


async def test_change_is_not_kept_waiting_by_a_later_look(controller: Controller, work: Work) -> None:
    work.again = HOUR
    controller.enqueue(KEY)
    await work.until_begun(1)
    controller.enqueue(KEY)
    await work.until_begun(2)


async def test_work_that_fails_is_taken_up_again(controller: Controller, work: Work) -> None:
    work.fails = True
    controller.enqueue(KEY)
    await work.until_begun(2)
