"""Reconciler: starts and wakes workflows of one type so that those open match those wanted.

Open workflows are those that Temporal lists, when this process becomes the leader and every five minutes, and
those that were started since. A wanted workflow that is not open is started with its observation; an open one
with an outdated observation is woken. The most urgent go first, failed calls are retried with back-off after
those of other workflows, and a workflow is woken at most once a second. Comparisons and lists are worked
through in pieces that yield to the event loop.

After a workflow has ended, a watch that lags may still show the reason for it. So a workflow that knew the
whole observation is not started again before every watch must be up to date; news since then starts it at
once. The first starts do not wait for the list, as visibility may lag: a start finds out whether its workflow
is open. The list adds the open workflows that the cluster no longer asks for.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol

from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching.open_workflows import Key, Observed, OpenWorkflows, Refusals
from detector.dispatching.work_queue import Comparisons, WakePace, WorkQueue
from kube.time_slice import TimeSlice
from objects.backoff import FULL_JITTER, Backoff
from runtime.guard import Guard
from runtime.problems import Problems, one_sentence, retry_forever

CALLS, LISTS = "dispatch", "incidents"
"""The names of its calls and of its lists in logs and problems."""
RECONCILE_EVERY = timedelta(minutes=5)
CALLS_AT_ONCE = 20
UNANSWERED = Backoff(timedelta(seconds=1), timedelta(seconds=10), jitter=FULL_JITTER)
REFUSED_SECONDS = 10.0
"""How long to wait before repeating a refused call; any failed call lets others go first for as long."""
ALL_SEEN = timedelta(seconds=45)
"""After this time every working watch was confirmed fresh, so what it still shows exists."""
VISIBLE_AFTER = timedelta(seconds=30)
"""How long lists may miss a started workflow: visibility is eventually consistent."""


class Workflows(Protocol[Key, Observed]):
    """The workflows of one type, and the calls to Temporal, each of which raises RPCError."""

    def all_wanted(self) -> Iterable[Key]:
        """The workflows that should be open; the set may change during iteration."""

    def is_wanted(self, key: Key) -> bool:
        """True if this workflow should be open now."""

    def observe(self, key: Key) -> Observed:
        """Observe the subject of the workflow now."""

    def may_wait_seconds(self, observation: Observed) -> float:
        """How long its start or wake may wait for more urgent ones."""

    def needs_wake_up(self, key: Key, last: Observed, observation: Observed) -> bool:
        """True if an open workflow with the observation `last` has to be woken for `observation`."""

    def must_be_open(self, observation: Observed) -> bool:
        """True if it is started even if it seems to be open, as it may just have ended."""

    def has_appeared(self, last: Observed, observation: Observed) -> bool:
        """True if there is a reason to run that a workflow started from `last` could not have seen."""

    async def start(self, key: Key, observation: Observed) -> None:
        """Start it, or wake it if it is open."""

    async def wake(self, key: Key, observation: Observed) -> None:
        """Wake an open workflow, which then asks; raises RPCError NOT_FOUND if it has ended."""

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake an open workflow of unknown key."""

    async def running(self) -> Mapping[str, Key | None]:
        """The open workflows by id, as Temporal lists them; None for a workflow of unknown key."""

    def has_closed(self, key: Key) -> None:
        """Called when the workflow is no longer open."""


@dataclass(frozen=True)
class ReconcilerDependencies:
    """The values that a reconciler takes from its process: leadership, time, and reports of errors."""

    is_leader: Callable[[], bool]
    now: Callable[[], datetime]
    guard: Guard
    problems: Problems


class Reconciler(Generic[Key, Observed]):
    """Starts and wakes the workflows of one type, while this process is the leader."""

    def __init__(
        self,
        workflows: Workflows[Key, Observed],
        open_workflows: OpenWorkflows[Key, Observed],
        dependencies: ReconcilerDependencies,
        *,
        report_refusal: Callable[[Key, str], None] = lambda _key, _why: None,
    ) -> None:
        """`report_refusal` is called with a refused workflow, as `Refusals` says."""
        self.refusals = Refusals(report_refusal)
        self._workflows = workflows
        self._open = open_workflows
        self._dependencies = dependencies
        self._comparisons: Comparisons[Key] = Comparisons()
        self._pace: WakePace[Key] = WakePace(self.consider)
        self._queue: WorkQueue[Key] = WorkQueue()
        self._turn = asyncio.Lock()
        self._calls_time_slice = TimeSlice()
        self._closed: set[str] = set()
        """Ids of workflows that were closed since the latest reconciliation began."""
        self._is_leading = False

    @property
    def is_leading(self) -> bool:
        return self._is_leading

    async def lead(self) -> None:
        """Reconcile, start and wake workflows until cancelled, then forget them."""
        self._is_leading = True
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._reconcile_for_ever())
                tasks.create_task(self._compare_for_ever())
                for _ in range(CALLS_AT_ONCE):
                    tasks.create_task(self._call_for_ever())
        finally:
            self._is_leading = False
            for entry in self._open.all():
                self._close(entry.key)
            self._comparisons.clear()
            self._pace.clear()
            self._queue.clear()
            self.refusals.clear()

    def consider(self, key: Key) -> None:
        """Compare a workflow soon: it may have to be started or woken."""
        if self._is_leading:
            self._comparisons.put(key, is_open=self._open.get(key) is not None)

    async def _compare_for_ever(self) -> None:
        time_slice = TimeSlice()
        while True:
            key = await self._comparisons.get()
            with self._dependencies.guard.item(CALLS, key.workflow_id):
                self._compare(key)
            await time_slice.yield_if_over()

    def _compare(self, key: Key) -> None:
        observation, entry = self._workflows.observe(key), self._open.get(key)
        last, must_be_open = entry.last_observation if entry else None, self._workflows.must_be_open
        if last is not None and not self._workflows.needs_wake_up(key, last, observation):
            # No news, as if it had been answered: compare the next observation with this one.
            self._open.put(key, observation, self._dependencies.now())
            return
        # If the last observation asked for nothing, the wake may have to start the next workflow.
        may_be_start = last is None or (must_be_open(observation) and not must_be_open(last))
        if may_be_start or not self._pace.delays(key):
            behind_others = REFUSED_SECONDS if self.refusals.has_failed(key) else 0.0
            self._queue.put(key, self._workflows.may_wait_seconds(observation) + behind_others)

    async def _call_for_ever(self) -> None:
        failures = 0
        while True:
            key = await self._next_in_turn()
            try:
                with self._dependencies.guard.item(CALLS, key.workflow_id) as caught:
                    failures = await self._try_to_call(key, failures)
                if caught.error is not None:
                    # Repeated at its next change, or the next reconciliation; the queue goes on.
                    self._open.put(key, None, self._dependencies.now())
            finally:
                self._queue.done(key)

    async def _next_in_turn(self) -> Key:
        """The most urgent key; other tasks run first if calls had the event loop for too long.

        Temporal may answer all calls under way at once, and each caller then observes and calls again.
        """
        async with self._turn:
            await self._calls_time_slice.yield_if_over()
            return await self._queue.get()

    async def _try_to_call(self, key: Key, failures: int) -> int:
        """Call it; returns how many calls in a row Temporal has not answered.

        A call that Temporal refuses for one workflow is repeated later, and does not block other calls.
        """
        try:
            await self._call(key)
        except RPCError as error:
            if self.refusals.is_refused_after(key, error):
                asyncio.get_running_loop().call_later(REFUSED_SECONDS, self.consider, key)
                return 0
            self._dependencies.problems.report(CALLS, one_sentence(error))
            wait = UNANSWERED.wait(failures + 1, random.random())  # noqa: S311  spreads retries, hides no secret
            await asyncio.sleep(wait.total_seconds())
            self.consider(key)
            return failures + 1
        self._dependencies.problems.report(CALLS, "")
        return 0

    async def _call(self, key: Key) -> None:
        """Start or wake one workflow, by its current observation.

        A process that was frozen sees the end of its leadership before its tasks are cancelled.
        """
        if not self._dependencies.is_leader():
            return
        observation, is_wanted = self._workflows.observe(key), self._workflows.is_wanted(key)
        entry = self._open.get(key)
        if not is_wanted and entry is None:
            self.refusals.forget(key)
            return
        last = entry.last_observation if entry else None
        is_started = is_wanted and (last is None or self._workflows.must_be_open(observation))
        # Noted before the call: changes during the call are compared with what it says.
        self._open.put(key, observation, self._dependencies.now())
        if entry is not None:
            self._pace.note(key)
        try:
            await (self._workflows.start if is_started else self._workflows.wake)(key, observation)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and not is_started:
                knew_all = last is not None and not self._workflows.has_appeared(last, observation)
                self._has_ended(key, knew_all=knew_all)
            else:
                self._open.put(key, None, self._dependencies.now())
                raise
        self.refusals.succeeded(key)

    def _has_ended(self, key: Key, *, knew_all: bool) -> None:
        """Start it again: at once if it has not seen all, else once every watch is up to date."""
        self._close(key)
        if not knew_all:
            self._reconsider(key)
            return
        asyncio.get_running_loop().call_later(ALL_SEEN.total_seconds(), self._reconsider, key)

    def _reconsider(self, key: Key) -> None:
        """Start it again if it is still wanted and not open meanwhile."""
        if self._open.get(key) is None:
            self.consider(key)

    async def _reconcile_for_ever(self) -> None:
        await self._consider_all(self._workflows.all_wanted())
        while True:
            with self._dependencies.guard.item(CALLS, "reconciliation"):
                self._closed.clear()
                running = await retry_forever(
                    LISTS, self._workflows.running, (RPCError,), self._dependencies.problems
                )
                await self._reconcile(running)
                await self._wake_strangers(running)
            await asyncio.sleep(RECONCILE_EVERY.total_seconds())

    async def _reconcile(self, running: Mapping[str, Key | None]) -> None:
        """Compare wanted and running workflows by id, in pieces.

        Each workflow is looked up at its turn, as it may have been started or closed meanwhile.
        """
        time_slice = TimeSlice()
        for listed_entry in self._open.all():
            entry = self._open.get(listed_entry.key)
            is_visible = entry is not None and self._dependencies.now() - entry.since > VISIBLE_AFTER
            if entry is not None and is_visible and entry.key.workflow_id not in running:
                self._close(entry.key)
            await time_slice.yield_if_over()
        identified = (key for key in running.values() if key is not None)
        await self._consider_all(key for key in identified if self._is_open(key))
        await self._consider_all(self._workflows.all_wanted())

    def _is_open(self, key: Key) -> bool:
        """True if a listed workflow is open; it may have been closed after the list."""
        if self._open.get(key) is None:
            if key.workflow_id in self._closed:
                return False
            self._open.put(key, None, self._dependencies.now())
        return True

    async def _consider_all(self, keys: Iterable[Key]) -> None:
        """Consider these in pieces; workflows that change meanwhile are considered with their change."""
        time_slice = TimeSlice()
        for key in keys:
            self.consider(key)
            await time_slice.yield_if_over()

    async def _wake_strangers(self, running: Mapping[str, Key | None]) -> None:
        """Wake workflows of unknown key that have not been answered yet; they then ask."""
        identified = {entry.key.workflow_id for entry in self._open.all()}
        for workflow_id, key in running.items():
            if key is None and workflow_id not in identified:
                with self._dependencies.guard.item(CALLS, workflow_id), suppress(RPCError):
                    await self._workflows.wake_unidentified(workflow_id)

    def _close(self, key: Key) -> None:
        self._open.remove(key)
        self._closed.add(key.workflow_id)
        self._pace.forget(key)
        self._workflows.has_closed(key)
