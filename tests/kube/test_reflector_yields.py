"""A reflector that has much to tell lets other tasks run meanwhile."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from kube.record import Change, ChangeKind, Key
from kube.reflector import Reflector
from kube.transport import Transport
from tests.kube.objects import PATH, WIDGETS, Widget, event, failed, listed, widget
from tests.kube.watched import IMPATIENT
from tests.support.api.api_server import ApiServer, lines, refused, said
from tests.support.api.eventually import eventually

MANY = 50
EXPIRED = failed(410, "Expired")


def slow_clock() -> Callable[[], float]:
    """A clock by which everything takes 10 ms."""
    readings = itertools.count()
    return lambda: time.monotonic() + next(readings) / 100


class Owner:
    """Notes with each change how often other tasks ran before, and how the reflector stood."""

    def __init__(self) -> None:
        self.turns = 0
        self.changes: list[Change[Widget]] = []
        self.at: list[int] = []
        self.seen: list[tuple[bool, bool]] = []
        """By other tasks while half of a list is told: whether the cache is synced, and has an age."""
        self.undecodable: list[tuple[str, str]] = []
        self.reflector: Reflector[Widget] | None = None

    def notify(self, change: Change[Widget]) -> None:
        self.changes.append(change)
        self.at.append(self.turns)

    def notify_undecodable(self, key: Key, error: str) -> None:
        self.undecodable.append((key.name, error and "broken"))
        self.at.append(self.turns)

    async def look_for_ever(self) -> None:
        while True:
            self.turns += 1
            if self.reflector is not None and 0 < len(self.changes) < MANY:
                self.seen.append((self.reflector.synced, self.reflector.age() is not None))
            await asyncio.sleep(0)


@asynccontextmanager
async def reflecting(transport: Transport) -> AsyncIterator[tuple[Reflector[Widget], Owner]]:
    owner = Owner()
    reflector = owner.reflector = Reflector(
        transport,
        WIDGETS,
        Widget,
        notify=owner.notify,
        on_undecodable=owner.notify_undecodable,
        settings=lambda: IMPATIENT,
        clock=slow_clock(),
    )
    tasks = [asyncio.create_task(reflector.run()), asyncio.create_task(owner.look_for_ever())]
    try:
        yield reflector, owner
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def names() -> list[str]:
    return [f"widget-{number:02}" for number in range(MANY)]


async def test_other_tasks_run_between_the_lines_of_a_full_buffer(
    server: ApiServer, transport: Transport
) -> None:
    buffer = b"".join(
        json.dumps(event("ADDED", widget(name, number + 2))).encode() + b"\n"
        for number, name in enumerate(names())
    )
    server.answer("GET", PATH, said(listed(1)))
    server.watch(PATH, lines(buffer, then="silent"))

    async with reflecting(transport) as (_, owner):
        await eventually(lambda: len(owner.changes) == MANY)

        assert [change.key.name for change in owner.changes] == names()
        assert len(set(owner.at)) == MANY  # by this clock each line is a slice of its own


async def test_other_tasks_run_between_the_changes_of_a_list_that_counts_when_all_are_reported(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(7, *(widget(name, 1) for name in names()))))
    server.watch(PATH, lines(then="silent"))

    async with reflecting(transport) as (reflector, owner):
        await reflector.wait_synced()
        assert [change.key.name for change in owner.changes] == names()
        assert len(set(owner.at)) == MANY
        assert set(owner.seen) == {(False, False)}
        assert reflector.synced
        assert reflector.age() is not None


async def test_later_list_stays_complete_and_has_no_age_before_all_changes_are_reported(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", PATH, said(listed(7)), said(listed(9, *(widget(name, 8) for name in names()))))
    server.watch(PATH, lines(EXPIRED), lines(then="silent"))

    async with reflecting(transport) as (reflector, owner):
        await eventually(lambda: len(owner.changes) == MANY and reflector.age() is not None)
        assert len(set(owner.at)) == MANY
        assert set(owner.seen) == {(True, False)}


async def test_no_other_task_runs_between_the_two_changes_of_a_replaced_object(
    server: ApiServer, transport: Transport
) -> None:
    first = [widget(name, 1, uid="first") for name in names()]
    second = [widget(name, 8, uid="second") for name in names()]
    server.answer("GET", PATH, said(listed(7, *first)), said(listed(9, *second)))
    server.watch(PATH, lines(EXPIRED), lines(then="silent"))

    async with reflecting(transport) as (_, owner):
        await eventually(lambda: len(owner.changes) == 3 * MANY)
        replaced = list(zip(owner.changes[MANY:], owner.at[MANY:], strict=True))
        for (went, at_first), (came, at_last) in zip(replaced[::2], replaced[1::2], strict=True):
            assert (went.kind, came.kind, went.key) == (ChangeKind.DELETED, ChangeKind.ADDED, came.key)
            assert at_first == at_last


async def test_kind_that_vanishes_is_reported_in_pieces(server: ApiServer, transport: Transport) -> None:
    server.answer(
        "GET",
        PATH,
        said(listed(7, *(widget(name, 1) for name in names()))),
        refused(404, "NotFound"),
    )
    server.watch(PATH, lines(EXPIRED))

    async with reflecting(transport) as (reflector, owner):
        await eventually(lambda: len(owner.changes) == 2 * MANY)
        assert Key("", names()[0]) not in reflector.store
        assert len(set(owner.at[MANY:])) == MANY


async def test_other_tasks_run_between_the_objects_of_a_list_that_do_not_decode_or_do_again(
    server: ApiServer, transport: Transport
) -> None:
    broken = [widget(name, 1, size="big") for name in names()]
    mended = [widget(name, 8) for name in names()]
    server.answer("GET", PATH, said(listed(7, *broken)), said(listed(9, *mended)))
    server.watch(PATH, lines(EXPIRED), lines(then="silent"))

    async with reflecting(transport) as (reflector, owner):
        await eventually(lambda: len(owner.undecodable) == 2 * MANY and reflector.age() is not None)
        assert owner.undecodable[:MANY] == [(name, "broken") for name in names()]
        assert {name for name, error in owner.undecodable[MANY:] if not error} == {*names()}
        undecodable, changes, resolved = owner.at[:MANY], owner.at[MANY:-MANY], owner.at[-MANY:]
        assert len(set(undecodable)) == len(set(changes)) == len(set(resolved)) == MANY
