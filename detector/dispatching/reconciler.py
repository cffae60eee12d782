"""Reconciler: the workflows that there should be against those that are open, for any workflow with a key.

Open is what Temporal lists, at the start of the lead and every five minutes, plus what was started since.
What is wanted and not open is started, with what is seen of it; an open one that is to know better is woken.
The most urgent first, retried with back-off; one workflow is woken once a second at most. Workflows that may
have to be started or woken are compared in pieces, which yield to the event loop. A reconciliation is done in
such pieces, too.

Of a workflow that has just ended, a watch that lags may still show what it was wanted for. So one that is
known to be open, and knew all that is seen, is not started again before every watch had the time to tell the
truth. What appeared since is news, and starts one at once.

The first starts wait for no list: visibility may lag or be away, and a start finds out by itself whether its
workflow is open. The list adds the open ones that nothing in the cluster asks for any more.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol

from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching.comparisons import Comparisons
from detector.dispatching.open_workflows import Key, OpenWorkflow, OpenWorkflows, Seen
from detector.dispatching.wake_pace import WakePace
from detector.dispatching.work_queue import WorkQueue
from kube.time_slice import TimeSlice
from runtime.guard import Guard
from runtime.problems import Problems
from runtime.retrying import one_sentence, retry_forever
from runtime.temporal_trouble import is_silence

RECONCILE_EVERY = timedelta(minutes=5)
CALLS_AT_ONCE = 20
LONGEST_BACK_OFF_SECONDS = 10.0
REFUSED_SECONDS = 10.0
"""After which a call is tried again that Temporal refused, for a reason of this one workflow."""
ALL_SEEN = timedelta(seconds=45)
"""By then every watch that works was proven fresh: what is still seen so long after its end is there."""
VISIBLE_AFTER = timedelta(seconds=30)
"""A workflow that was started may be missing from lists for so long: visibility is eventually consistent."""


class Workflows(Protocol[Key, Seen]):
    """The workflows of one type: which there should be, and the calls, each of which raises RPCError."""

    def all_wanted(self) -> Iterable[Key]:
        """Those that there should be; more may come and go between two of them."""

    def is_wanted(self, key: Key) -> bool:
        """Whether this is one of them."""

    def observe(self, key: Key) -> Seen:
        """What is seen now of what it is about."""

    def may_wait_seconds(self, seen: Seen) -> float:
        """How long its start or wake may wait for others."""

    def needs_wake_up(self, key: Key, last: Seen, seen: Seen) -> bool:
        """Whether an open one that knows of `last` must know of what is `seen`."""

    def must_be_open(self, seen: Seen) -> bool:
        """Whether one that we take for open is started, too: it may have ended but now."""

    def has_appeared(self, last: Seen, seen: Seen) -> bool:
        """Whether it is wanted for something that one which knew of `last` did not know."""

    async def start(self, key: Key, seen: Seen) -> None:
        """Start it, or wake it if it is open."""

    async def wake(self, key: Key, seen: Seen) -> None:
        """Wake an open one, which asks for what is `seen`; NOT_FOUND if it has ended."""

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake an open one that does not say which it is."""

    async def running(self) -> Mapping[str, Key | None]:
        """The open ones by their ids, as Temporal lists them; None for one that does not say which it is."""

    def has_closed(self, key: Key) -> None:
        """It is not open any more, as far as we know."""


@dataclass(frozen=True)
class ReconcilerDependencies:
    """What a reconciler needs of its process."""

    is_leader: Callable[[], bool]
    now: Callable[[], datetime]
    guard: Guard
    problems: Problems


class Reconciler(Generic[Key, Seen]):
    """Starts and wakes the workflows of one type, while this process holds the lead."""

    def __init__(
        self,
        workflows: Workflows[Key, Seen],
        open_workflows: OpenWorkflows[Key, Seen],
        dependencies: ReconcilerDependencies,
        *,
        part: str,
        listed: str,
    ) -> None:
        """People read of problems with its calls under the name `part`, of those with lists as `listed`."""
        self._workflows = workflows
        self._open = open_workflows
        self._dependencies = dependencies
        self._part = part
        self._listed = listed
        self._comparisons: Comparisons[Key] = Comparisons()
        self._pace: WakePace[Key] = WakePace(self.consider)
        self._queue: WorkQueue[Key] = WorkQueue()
        self._closed: set[str] = set()
        """Those that were closed since the latest reconciliation began."""
        self._is_leading = False

    @property
    def is_leading(self) -> bool:
        """Whether it starts and wakes now."""
        return self._is_leading

    async def lead(self) -> None:
        """Start and wake until cancelled."""
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

    def consider(self, key: Key) -> None:
        """Compare a workflow soon: it may have to be started or woken."""
        if self._is_leading:
            self._comparisons.put(key, is_open=self._open.get(key) is not None)

    async def _compare_for_ever(self) -> None:
        time_slice = TimeSlice()
        while True:
            key = await self._comparisons.get()
            with self._dependencies.guard.item(self._part, key.workflow_id):
                self._compare(key)
            await time_slice.yield_if_over()

    def _compare(self, key: Key) -> None:
        seen, entry = self._workflows.observe(key), self._open.get(key)
        last = entry.last_observation if entry else None
        if last is not None and not self._workflows.needs_wake_up(key, last, seen):
            # No news, and so as if it had been told: what comes next is compared with this.
            self._open.put(key, seen, self._dependencies.now())
        elif last is None or self._may_be_new(last, seen) or not self._pace.delays(key):
            self._queue.put(key, self._workflows.may_wait_seconds(seen))

    def _may_be_new(self, last: Seen, seen: Seen) -> bool:
        """Whether the wake may be the start of the next workflow: nothing was to be done when it was told."""
        return self._workflows.must_be_open(seen) and not self._workflows.must_be_open(last)

    async def _call_for_ever(self) -> None:
        failures = 0
        while True:
            key = await self._queue.get()
            try:
                with self._dependencies.guard.item(self._part, key.workflow_id) as caught:
                    failures = await self._try_to_call(key, failures)
                if caught.error is not None:
                    # Tried again with its next change, or the next reconciliation; the queue goes on.
                    self._open.put(key, None, self._dependencies.now())
            finally:
                self._queue.done(key)

    async def _try_to_call(self, key: Key, failures: int) -> int:
        """Call it; answers how many calls in a row Temporal did not answer.

        What it refuses of one workflow is tried again later, and keeps no caller from the others.
        """
        try:
            await self._call(key)
        except RPCError as error:
            self._dependencies.problems.report(self._part, one_sentence(error))
            if not (is_silence(error) or error.status is RPCStatusCode.RESOURCE_EXHAUSTED):
                asyncio.get_running_loop().call_later(REFUSED_SECONDS, self.consider, key)
                return 0
            await asyncio.sleep(_back_off(failures + 1))
            self.consider(key)
            return failures + 1
        self._dependencies.problems.report(self._part, "")
        return 0

    async def _call(self, key: Key) -> None:
        """Start or wake one workflow, by what is so now.

        A process that was frozen knows of the end of its lead before it is told to stop leading.
        """
        if not self._dependencies.is_leader():
            return
        seen, is_wanted = self._workflows.observe(key), self._workflows.is_wanted(key)
        entry = self._open.get(key)
        if not is_wanted and entry is None:
            return
        last = entry.last_observation if entry else None
        is_started = is_wanted and (last is None or self._workflows.must_be_open(seen))
        # Noted before the call: a change that comes while it is under way is compared with what it says.
        self._open.put(key, seen, self._dependencies.now())
        if entry is not None:
            self._pace.note(key)
        try:
            await (self._workflows.start if is_started else self._workflows.wake)(key, seen)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND and not is_started:
                knew_all = last is not None and not self._workflows.has_appeared(last, seen)
                self._has_ended(key, knew_all=knew_all)
                return
            self._open.put(key, None, self._dependencies.now())
            raise

    def _has_ended(self, key: Key, *, knew_all: bool) -> None:
        """Start it again at once if it is wanted for what it did not know, else when all is seen."""
        self._close(key)
        if not knew_all:
            self._reconsider(key)
            return
        asyncio.get_running_loop().call_later(ALL_SEEN.total_seconds(), self._reconsider, key)

    def _reconsider(self, key: Key) -> None:
        """Start it again if it is still wanted, and nobody has started it meanwhile."""
        if self._open.get(key) is None:
            self.consider(key)

    async def _reconcile_for_ever(self) -> None:
        await self._consider_all(self._workflows.all_wanted())
        while True:
            with self._dependencies.guard.item(self._part, "reconciliation"):
                self._closed.clear()
                running = await retry_forever(
                    self._listed, self._workflows.running, (RPCError,), self._dependencies.problems
                )
                await self._reconcile(running)
                await self._wake_strangers(running)
            await asyncio.sleep(RECONCILE_EVERY.total_seconds())

    async def _reconcile(self, running: Mapping[str, Key | None]) -> None:
        """Compare what there should be with what runs, by workflow id, in pieces.

        Each workflow is looked up at its turn, as it may have been started or closed meanwhile.
        """
        time_slice = TimeSlice()
        for known in self._open.all():
            entry = self._open.get(known.key)
            if entry is not None and entry.key.workflow_id not in running and self._is_visible(entry):
                self._close(entry.key)
            await time_slice.yield_if_over()
        identified = (key for key in running.values() if key is not None)
        await self._consider_all(key for key in identified if self._is_open(key))
        await self._consider_all(self._workflows.all_wanted())

    def _is_open(self, key: Key) -> bool:
        """Whether a workflow that Temporal listed is open; it may have been closed since."""
        if self._open.get(key) is None:
            if key.workflow_id in self._closed:
                return False
            self._open.put(key, None, self._dependencies.now())
        return True

    async def _consider_all(self, keys: Iterable[Key]) -> None:
        """Consider these in pieces; what changes meanwhile is considered with its change."""
        time_slice = TimeSlice()
        for key in keys:
            self.consider(key)
            await time_slice.yield_if_over()

    async def _wake_strangers(self, running: Mapping[str, Key | None]) -> None:
        """Wake those that do not say which they are, and were not answered yet: they ask."""
        known = {entry.key.workflow_id for entry in self._open.all()}
        for workflow_id, key in running.items():
            if key is None and workflow_id not in known:
                with self._dependencies.guard.item(self._part, workflow_id), suppress(RPCError):
                    await self._workflows.wake_unidentified(workflow_id)

    def _is_visible(self, entry: OpenWorkflow[Key, Seen]) -> bool:
        return self._dependencies.now() - entry.since > VISIBLE_AFTER

    def _close(self, key: Key) -> None:
        self._open.remove(key)
        self._closed.add(key.workflow_id)
        self._pace.forget(key)
        self._workflows.has_closed(key)


def _back_off(failures: int) -> float:
    longest = min(0.5 * 2 ** min(failures, 10), LONGEST_BACK_OFF_SECONDS)
    return random.uniform(longest / 2, longest)  # noqa: S311  spreads retries, hides no secret
