"""Reconciles any workflow with a key: here one for each pool, at the version of the pool."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching import reconciler as reconciler_module
from detector.dispatching.open_workflows import OpenWorkflows, Refusals
from detector.dispatching.reconciler import CALLS_AT_ONCE, Reconciler, ReconcilerDependencies
from detector.dispatching.work_queue import BETWEEN_WAKES_SECONDS
from kube import time_slice
from objects.backoff import Backoff
from runtime.guard import Guard
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.values.builders import NOW


@dataclass(frozen=True)
class Pool:
    name: str

    @property
    def workflow_id(self) -> str:
        return f"upgrade/{self.name}"


ONE, OTHER = Pool("one"), Pool("other")


class Upgrades:
    """The workflows of pools, and the calls for them; the state of a pool is its version."""

    def __init__(self) -> None:
        self.versions = {ONE: 1}
        self.listed: dict[str, Pool | None] = {}
        self.calls: list[str] = []
        self.ended: set[Pool] = set()
        self.unhealthy: set[int] = set()
        """The versions for which a pool must have a workflow."""
        self.silent = 0
        """How many calls are not answered yet."""
        self.broken: dict[Pool, int] = {}
        """The pools whose starts fail with an error of a database, and how often they failed."""
        self.refused: dict[Pool, str] = {}

    def all_wanted(self) -> Iterable[Pool]:
        yield from tuple(self.versions)

    def is_wanted(self, key: Pool) -> bool:
        return key in self.versions

    def observe(self, key: Pool) -> int:
        return self.versions.get(key, 0)

    def may_wait_seconds(self, seen: int) -> float:
        return float(seen)

    def needs_wake_up(self, key: Pool, last: int, seen: int) -> bool:  # noqa: ARG002  as the protocol
        return last != seen

    def must_be_open(self, seen: int) -> bool:
        return seen in self.unhealthy

    def has_appeared(self, last: int, seen: int) -> bool:
        return seen > last

    async def start(self, key: Pool, seen: int) -> None:
        if key in self.broken:
            self.broken[key] += 1
            raise RPCError("pq: value too long", RPCStatusCode.UNAVAILABLE, b"")
        self._answer(f"start {key.name} at {seen}")

    async def wake(self, key: Pool, seen: int) -> None:
        if key in self.ended:
            raise RPCError("workflow execution already completed", RPCStatusCode.NOT_FOUND, b"")
        self._answer(f"wake {key.name} at {seen}")

    async def wake_unidentified(self, workflow_id: str) -> None:
        self._answer(f"wake {workflow_id}")

    async def running(self) -> Mapping[str, Pool | None]:
        return self.listed

    def has_closed(self, key: Pool) -> None:
        self.ended.discard(key)

    def _answer(self, call: str) -> None:
        if self.silent:
            self.silent -= 1
            raise RPCError("tcp connect error", RPCStatusCode.UNAVAILABLE, b"")
        self.calls.append(call)


@asynccontextmanager
async def leading(upgrades: Upgrades) -> AsyncIterator[Reconciler[Pool, int]]:
    def now() -> datetime:
        return NOW

    open_workflows: OpenWorkflows[Pool, int] = OpenWorkflows(lambda pool: pool.name)
    dependencies = ReconcilerDependencies(lambda: True, now, Guard(), Problems())
    reconciler = Reconciler(
        upgrades,
        open_workflows,
        dependencies,
        report_refusal=upgrades.refused.__setitem__,
    )
    lead = asyncio.create_task(reconciler.lead())
    yield reconciler
    assert not lead.done()
    lead.cancel()
    with suppress(asyncio.CancelledError):
        await lead


async def called(upgrades: Upgrades, *calls: str) -> None:
    await eventually(lambda: upgrades.calls == [*calls])


async def test_wanted_workflow_is_started_and_woken_when_it_needs_newer_facts() -> None:
    upgrades = Upgrades()
    async with leading(upgrades) as reconciler:
        await called(upgrades, "start one at 1")
        reconciler.consider(ONE)
        upgrades.versions |= {ONE: 2, OTHER: 1}
        reconciler.consider(ONE)
        reconciler.consider(OTHER)
        await called(upgrades, "start one at 1", "start other at 1", "wake one at 2")


async def test_one_that_ended_is_started_anew_for_what_it_did_not_know() -> None:
    upgrades = Upgrades()
    async with leading(upgrades) as reconciler:
        await called(upgrades, "start one at 1")
        upgrades.ended.add(ONE)
        upgrades.versions[ONE] = 2
        reconciler.consider(ONE)
        await called(upgrades, "start one at 1", "start one at 2")


async def test_listed_workflow_is_woken_also_if_unwanted_or_without_a_key() -> None:
    upgrades = Upgrades()
    upgrades.versions = {}
    upgrades.listed = {OTHER.workflow_id: OTHER, "upgrade/by-hand": None}
    async with leading(upgrades):
        await eventually(lambda: sorted(upgrades.calls) == ["wake other at 0", "wake upgrade/by-hand"])


async def test_call_that_is_not_answered_is_repeated() -> None:
    upgrades = Upgrades()
    upgrades.silent = 1
    async with leading(upgrades):
        await called(upgrades, "start one at 1")


async def test_workflows_that_fail_while_others_succeed_are_refused_and_pause_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconciler_module, "UNANSWERED", Backoff(timedelta(), timedelta()))
    monkeypatch.setattr(reconciler_module, "REFUSED_SECONDS", 0.01)
    upgrades = Upgrades()
    upgrades.broken = {Pool(f"broken-{number}"): 0 for number in range(2 * CALLS_AT_ONCE)}
    upgrades.versions = dict.fromkeys(upgrades.broken, 1)
    async with leading(upgrades) as reconciler:
        await eventually(lambda: all(failed > 1 for failed in upgrades.broken.values()))
        assert not upgrades.refused, "no other call succeeded"
        upgrades.versions[ONE] = 1
        reconciler.consider(ONE)
        await eventually(lambda: upgrades.refused.keys() == upgrades.broken.keys())
        assert set(upgrades.refused.values()) == {"Unavailable: pq: value too long"}
        assert len(reconciler.refusals.sentences) == len(upgrades.broken)

        monkeypatch.setattr(reconciler_module, "UNANSWERED", Backoff(timedelta(hours=1), timedelta(hours=1)))
        before = dict(upgrades.broken)
        await eventually(lambda: all(upgrades.broken[pool] > before[pool] + 1 for pool in before))
        upgrades.versions[OTHER] = 1
        reconciler.consider(OTHER)
        await called(upgrades, "start one at 1", "start other at 1")

        healed = next(iter(upgrades.broken))
        del upgrades.broken[healed]
        await eventually(lambda: not upgrades.refused[healed])
        assert len(reconciler.refusals.sentences) == len(upgrades.broken)


@pytest.mark.parametrize(
    ("status", "message", "at_once", "later"),
    [
        (RPCStatusCode.INVALID_ARGUMENT, "WorkflowId length exceeds limit.", True, True),
        (RPCStatusCode.UNAVAILABLE, "pq: value too long", False, True),
        (RPCStatusCode.UNAVAILABLE, "tcp connect error", False, False),
        (RPCStatusCode.RESOURCE_EXHAUSTED, "namespace rate limit exceeded", False, False),
        (RPCStatusCode.PERMISSION_DENIED, "Request unauthorized.", False, False),
    ],
)
def test_error_is_of_one_workflow_if_it_says_so_or_repeats_while_others_succeed(
    status: RPCStatusCode, message: str, *, at_once: bool, later: bool
) -> None:
    refusals, error = Refusals[Pool](lambda _pool, _why: None), RPCError(message, status, b"")
    assert refusals.is_refused_after(ONE, error) is at_once
    assert refusals.is_refused_after(ONE, error) is at_once
    refusals.succeeded(OTHER)
    assert refusals.is_refused_after(ONE, error) is later
    assert refusals.is_refused_after(ONE, error) is later, "also if no other call was made since"
    refusals.forget(ONE)
    assert refusals.is_refused_after(ONE, error) is at_once


async def test_incident_of_a_flapping_target_is_woken_once_a_second_and_learns_the_latest() -> None:
    upgrades = Upgrades()
    woken: list[float] = []
    loop = asyncio.get_running_loop()
    async with leading(upgrades) as reconciler:
        await called(upgrades, "start one at 1")
        while len(upgrades.calls) < 4:
            known = len(upgrades.calls)
            upgrades.versions[ONE] += 1
            reconciler.consider(ONE)
            await asyncio.sleep(0)
            woken += [loop.time()] * (len(upgrades.calls) - known)
        last = upgrades.versions[ONE]
        await eventually(lambda: upgrades.calls[-1] == f"wake one at {last}")

    assert min(later - earlier for earlier, later in itertools.pairwise(woken)) > 0.9


async def test_start_is_not_delayed_by_a_wake_a_moment_ago() -> None:
    upgrades = Upgrades()
    upgrades.unhealthy = {1, 3}
    async with leading(upgrades) as reconciler:
        await called(upgrades, "start one at 1")
        began = asyncio.get_running_loop().time()
        for version in (2, 3):
            upgrades.versions[ONE] = version
            reconciler.consider(ONE)
            await eventually(lambda calls=version: len(upgrades.calls) == calls)  # type: ignore[misc]
        assert upgrades.calls == ["start one at 1", "wake one at 2", "start one at 3"]
        assert asyncio.get_running_loop().time() - began < BETWEEN_WAKES_SECONDS


async def test_thousands_are_compared_in_pieces_and_one_to_start_first() -> None:
    upgrades, pools = Upgrades(), [Pool(f"pool-{number}") for number in range(300)]
    upgrades.versions = dict.fromkeys(pools, 1)
    turns = 0

    def slow(key: Pool) -> int:
        busy_until = time.monotonic() + 0.001
        while time.monotonic() < busy_until:
            pass
        compared.append((key, turns))
        return upgrades.versions[key]

    compared: list[tuple[Pool, int]] = []
    async with leading(upgrades) as reconciler:
        await eventually(lambda: len(upgrades.calls) == len(pools))
        upgrades.versions[ONE] = 1
        upgrades.observe = slow  # type: ignore[method-assign]
        for pool in (*pools, *pools, ONE):
            reconciler.consider(pool)
        while len(compared) < len(pools) + 2:  # and once more where ONE is started
            await asyncio.sleep(0)
            turns += 1

    assert compared[0][0] == ONE
    assert len({turn for _, turn in compared}) >= 30


async def test_reconciliation_lets_other_tasks_run_between_two_workflows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    upgrades, pools = Upgrades(), [Pool(f"pool-{number}") for number in range(20)]
    upgrades.versions = dict.fromkeys(pools, 1)
    upgrades.listed = {pool.workflow_id: pool for pool in pools}
    turns, considered = 0, list[int]()

    async with leading(upgrades) as reconciler:
        consider = reconciler.consider

        def counted(key: Pool) -> None:
            considered.append(turns)
            consider(key)

        monkeypatch.setattr(reconciler, "consider", counted)
        while len(considered) < 3 * len(pools):  # at the start, and twice by the first reconciliation
            await asyncio.sleep(0)
            turns += 1

    assert len(set(considered)) >= 2 * len(pools)


async def test_workflow_that_ended_after_it_was_listed_is_not_taken_for_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    upgrades = Upgrades()
    upgrades.versions = {}
    listed = asyncio.Event()

    async def running() -> Mapping[str, Pool | None]:
        await listed.wait()
        return {ONE.workflow_id: ONE, OTHER.workflow_id: OTHER}

    upgrades.running = running  # type: ignore[method-assign]
    upgrades.ended.add(ONE)
    async with leading(upgrades) as reconciler:
        await eventually(lambda: reconciler.is_leading)
        reconciler._open.put(ONE, 1, NOW)  # noqa: SLF001  as an answer notes it
        reconciler.consider(ONE)
        await eventually(lambda: ONE not in upgrades.ended)
        upgrades.ended.add(ONE)
        listed.set()
        await called(upgrades, "wake other at 0")
        assert reconciler._open.get(ONE) is None  # noqa: SLF001


async def test_other_tasks_run_between_the_calls_that_follow_answers_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0)
    upgrades, answers = Upgrades(), asyncio.Event()
    upgrades.versions = {Pool(f"pool-{number}"): 1 for number in range(2 * CALLS_AT_ONCE)}
    start = upgrades.start

    async def start_and_wait(key: Pool, seen: int) -> None:
        await start(key, seen)
        await answers.wait()

    monkeypatch.setattr(upgrades, "start", start_and_wait)
    longest = 0
    async with leading(upgrades):
        await eventually(lambda: len(upgrades.calls) == CALLS_AT_ONCE)
        answers.set()
        while len(upgrades.calls) < 2 * CALLS_AT_ONCE:
            before = len(upgrades.calls)
            await asyncio.sleep(0)
            longest = max(longest, len(upgrades.calls) - before)
    assert longest == 1
