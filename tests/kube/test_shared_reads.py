"""Reads that callers share."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kube.client import SharedReads
from kube.errors import NotFound
from kube.resource import NODES, Object, Resource


class CountingClient:
    """Answers when the test lets it, with the number of the request."""

    def __init__(self) -> None:
        self.sent = 0
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:  # noqa: ARG002  as the real one
        self.sent += 1
        number = self.sent
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return {"number": number}


def reads(client: Any) -> SharedReads:
    return SharedReads(client)


async def _let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_callers_that_ask_together_share_one_read() -> None:
    client = CountingClient()
    shared = reads(client)
    callers = [asyncio.create_task(shared.get(NODES, "a")) for _ in range(100)]
    client.gate.set()

    assert await asyncio.gather(*callers) == [{"number": 1}] * 100
    assert client.sent == 1


async def test_a_caller_never_gets_a_read_that_was_sent_before_it_asked() -> None:
    client = CountingClient()
    shared = reads(client)
    early = asyncio.create_task(shared.get(NODES, "a"))
    await _let_others_run()
    assert client.sent == 1
    late = [asyncio.create_task(shared.get(NODES, "a")) for _ in range(10)]
    await _let_others_run()
    assert client.sent == 1, "at most one is under way"
    client.gate.set()

    assert await early == {"number": 1}
    assert await asyncio.gather(*late) == [{"number": 2}] * 10


async def test_objects_of_other_names_do_not_wait_for_each_other() -> None:
    client = CountingClient()
    shared = reads(client)
    callers = [asyncio.create_task(shared.get(NODES, name)) for name in "ab"]
    await _let_others_run()
    assert client.sent == 2
    client.gate.set()
    await asyncio.gather(*callers)


async def test_error_is_raised_for_all_callers_that_share_the_read_and_for_no_other() -> None:
    client = CountingClient()
    client.error = NotFound("gone")
    client.gate.set()
    shared = reads(client)
    callers = [asyncio.create_task(shared.get(NODES, "a")) for _ in range(3)]
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert all(isinstance(result, NotFound) for result in results)
    client.error = None

    assert await shared.get(NODES, "a") == {"number": 2}


async def test_a_caller_that_is_cancelled_leaves_the_read_to_the_others() -> None:
    client = CountingClient()
    shared = reads(client)
    leaver, stayer = (asyncio.create_task(shared.get(NODES, "a")) for _ in range(2))
    await _let_others_run()
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    client.gate.set()

    assert await stayer == {"number": 1}


async def test_read_that_never_ends_keeps_no_later_one_waiting_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kube.client.LONGEST_SHARED", timedelta(milliseconds=10))
    client = CountingClient()
    shared = reads(client)
    stuck = asyncio.create_task(shared.get(NODES, "a"))
    await _let_others_run()
    assert client.sent == 1
    later = asyncio.create_task(shared.get(NODES, "a"))
    async with asyncio.timeout(5):
        while client.sent < 2:  # noqa: ASYNC110  the client of this test signals nothing
            await asyncio.sleep(0.01)
    client.gate.set()
    assert (await stuck, await later) == ({"number": 1}, {"number": 2})
