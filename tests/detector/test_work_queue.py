"""The order of the detector's calls: the most urgent incident first, and each at most once at a time."""

import asyncio

import pytest

from detector.dispatching.incident_queues import WorkQueue
from health.model.references import CheckReference, IncidentReference, TargetReference

SOON, LATER = 1.0, 2.0


def incident(name: str) -> IncidentReference:
    return IncidentReference(
        cluster="main-0a1b",
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name=name, uid=f"uid-{name}"),
    )


ONE, OTHER = incident("one"), incident("other")


async def taken(queue: WorkQueue) -> list[IncidentReference]:
    """All incidents that the queue returns now, in order."""
    found: list[IncidentReference] = []
    getting = asyncio.ensure_future(queue.get())
    while True:
        await asyncio.sleep(0)
        if not getting.done():
            getting.cancel()
            return found
        found.append(getting.result())
        getting = asyncio.ensure_future(queue.get())


@pytest.mark.parametrize("orders", [(SOON, LATER), (LATER, SOON)])
async def test_most_urgent_one_is_called_first_and_each_once(orders: tuple[float, float]) -> None:
    queue = WorkQueue()
    for name, order in zip((ONE, OTHER), orders, strict=True):
        queue.put(name, order)
        queue.put(name, order)

    assert await taken(queue) == ([ONE, OTHER] if orders[0] == SOON else [OTHER, ONE])


async def test_incident_that_may_wait_is_called_before_those_that_came_after_its_deadline() -> None:
    time = [0.0]
    queue = WorkQueue(lambda: time[0])
    queue.put(ONE, 300.0)
    for moment in range(299, 304):
        time[0] = float(moment)
        queue.put(incident(f"flapping-{moment}"), 0.0)

    flapping = [key.target.name for key in await taken(queue)]
    assert flapping == ["flapping-299", "one", "flapping-300", *(f"flapping-{n}" for n in (301, 302, 303))]


async def test_incident_that_waits_is_brought_forward_when_it_may_wait_less() -> None:
    queue = WorkQueue()
    queue.put(ONE, 300.0)
    queue.put(OTHER, LATER)
    queue.put(ONE, SOON)
    queue.put(ONE, 300.0)
    assert await taken(queue) == [ONE, OTHER]


@pytest.mark.rule("rule 1")
async def test_one_that_is_called_just_now_is_called_again_after_the_call() -> None:
    queue = WorkQueue()
    queue.put(ONE, SOON)
    assert await taken(queue) == [ONE]
    queue.put(ONE, LATER)
    queue.put(ONE, SOON)
    queue.put(OTHER, LATER)
    assert await taken(queue) == [OTHER]

    queue.done(ONE)
    assert await taken(queue) == [ONE]
    queue.done(ONE)
    queue.done(OTHER)
    assert await taken(queue) == []


async def test_next_lead_begins_with_an_empty_queue_and_no_call() -> None:
    queue = WorkQueue()
    queue.put(ONE, SOON)
    await taken(queue)
    queue.put(ONE, SOON)
    queue.clear()
    assert await taken(queue) == []
    queue.put(ONE, SOON)
    assert await taken(queue) == [ONE]
