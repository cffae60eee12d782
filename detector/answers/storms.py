"""Storms: the storm of each check, as the leader remembers it.

The leader starts from the stored conditions, and publishes its memory in them; a standby remembers nothing. A
storm is updated by every change of its check's numbers, so that the shortest breach counts; by a timer, when
a cooldown or the first deadline of a broken threshold is over; and before every answer. While the sources of
the check are not fresh, no storm begins or ends.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.answers.judged_target import check_holds
from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.check.health_check import HealthCheck
from health.check.storm import Storm, after, storm_hold
from health.gate.check_holds import STALE_ASK_AGAIN_SECONDS
from health.model.observation import Hold
from health.model.references import CheckReference
from health.model.verdict import Health
from objects.durations import JUST_AFTER

_BLIND = timedelta(seconds=STALE_ASK_AGAIN_SECONDS)


@dataclass
class _Memory:
    """The storm of one check, and when it may change."""

    uid: str
    storm: Storm | None
    first_deadline: datetime | None = None
    """No target has an earlier deadline; None if the first deadline is not known."""
    due: datetime | None = None
    """When the storm may change without an event."""


class Storms:
    """The storms of one cluster; its change handler must run before handlers that use the answers."""

    def __init__(
        self, cluster_state: ClusterState, sees: Callable[[CheckReference], bool], now: Callable[[], datetime]
    ) -> None:
        self._cluster_state = cluster_state
        self._sees = sees
        self._now = now
        self._is_leading = False
        self._memories: dict[CheckReference, _Memory] = {}
        self._turned: set[CheckReference] = set()
        self._rescheduled = asyncio.Event()

    async def lead(self) -> None:
        """Remember storms, and update them when their time is over, until cancelled."""
        self._is_leading = True
        try:
            self._advance_all(self._cluster_state.checks)
            while True:
                await self._wait()
                now = self._now()
                due = [check for check, memory in self._memories.items() if memory.due and memory.due <= now]
                self._advance_all(due)
                while self._turned:
                    self._cluster_state.notify_check(self._turned.pop())
        finally:
            self._is_leading = False
            self._memories.clear()
            self._turned.clear()

    def advance(self, check: CheckReference) -> None:
        """Update the storm of a check by current numbers and time; only the leader remembers it."""
        check_state = self._cluster_state.checks.get(check)
        if check_state is None:
            self._memories.pop(check, None)
        elif self._is_leading:
            memory = self._memory(check, check_state)
            if check_state.check is None:
                self._schedule(memory, None)  # continues when the check is valid again
            else:
                self._advance_one(check, check_state.check, memory)

    def of(self, check: CheckReference) -> Storm | None:
        """The storm as of its latest update; as stored, if this detector does not remember it."""
        check_state, memory = self._cluster_state.checks.get(check), self._memories.get(check)
        if check_state is None:
            return None
        if memory is None or memory.uid != check_state.record.metadata.uid:
            return check_state.kind.stored_storm(check_state.record.status, self._now())
        return memory.storm

    def hold(self, check: CheckReference) -> Hold | None:
        """Why the storm of a check holds new requests, as of its latest update; None if it does not."""
        storm, check_state = self.of(check), self._cluster_state.checks.get(check)
        if storm is None or check_state is None or check_state.check is None:
            return None
        return storm_hold(storm, check_state.check.storm_cooldown, self._now())

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Update the storm after a change of the check's numbers, or of a target's deadline."""
        if not self._is_leading:
            return
        if target is None:
            self.advance(check)
        else:
            self._note_deadline(check, target)

    def _advance_all(self, checks: Iterable[CheckReference]) -> None:
        for check in tuple(checks):
            with self._cluster_state.guard.item("storms", check) as caught:
                self.advance(check)
            if caught.error is not None and check in self._memories:
                self._schedule(self._memories[check], self._now() + _BLIND)

    def _memory(self, check: CheckReference, check_state: CheckState) -> _Memory:
        uid, memory = check_state.record.metadata.uid, self._memories.get(check)
        if memory is None or memory.uid != uid:
            memory = _Memory(uid, check_state.kind.stored_storm(check_state.record.status, self._now()))
            self._memories[check] = memory
        return memory

    def _advance_one(self, check: CheckReference, parsed: HealthCheck, memory: _Memory) -> None:
        cooldown = parsed.storm_cooldown
        if cooldown is None:
            memory.storm = None
            self._schedule(memory, None)
            return
        now = self._now()
        if not self._sees(check):
            self._schedule(memory, now + _BLIND)
            return
        check_state, before = self._cluster_state.checks[check], memory.storm
        allowance = check_state.allowance(parsed, self._cluster_state.requests.targets_of(check))
        may_begin = not (allowance.allowed or (before is not None and before.is_active))
        # A check that holds all its targets for another reason than its numbers begins no storm.
        may_begin = may_begin and not check_holds(self._cluster_state, check, now).prevent_storms
        holds_back = may_begin and self._has_expired(check_state, parsed, memory, now)
        memory.storm = after(before, allowance, cooldown, holds_back=holds_back, now=now)
        self._schedule(memory, _next_change(memory, cooldown, may_begin=may_begin))
        if memory.storm != before:
            self._turned.add(check)
            self._rescheduled.set()

    def _has_expired(
        self, check_state: CheckState, parsed: HealthCheck, memory: _Memory, now: datetime
    ) -> bool:
        """True if the deadline of a target is over; looks at all targets only if one may be."""
        if memory.first_deadline is not None and now <= memory.first_deadline:
            return False
        targets, context = (
            self._cluster_state.targets.of(parsed.reference),
            self._cluster_state.cluster_context,
        )
        verdicts = [parsed.verdict(targets[name], now, context) for name in check_state.unhealthy]
        deadlines = [verdict.deadline for verdict in verdicts if verdict.deadline is not None]
        memory.first_deadline = min(deadlines, default=None)
        return any(verdict.health is Health.EXPIRED for verdict in verdicts)

    def _note_deadline(self, check: CheckReference, target: str) -> None:
        """Lower the first deadline to that of a changed target."""
        memory, check_state = self._memories.get(check), self._cluster_state.checks.get(check)
        if memory is None or memory.first_deadline is None or check_state is None:
            return
        observed_target = self._cluster_state.targets.get(check, target)
        if observed_target is None or check_state.check is None:
            return
        deadline = check_state.check.verdict(
            observed_target, self._now(), self._cluster_state.cluster_context
        ).deadline
        if deadline is not None and deadline < memory.first_deadline:
            memory.first_deadline = deadline
            if memory.due is not None:
                self._schedule(memory, min(memory.due, deadline + JUST_AFTER))

    def _schedule(self, memory: _Memory, due: datetime | None) -> None:
        if memory.due != due:
            memory.due = due
            self._rescheduled.set()

    async def _wait(self) -> None:
        """Return when a storm changed, a due time changed, or the first due time has come."""
        due = min((memory.due for memory in self._memories.values() if memory.due), default=None)
        timeout = None if due is None else max(0.0, (due - self._now()).total_seconds())
        try:
            async with asyncio.timeout(timeout):
                await self._rescheduled.wait()
        except TimeoutError:
            return
        self._rescheduled.clear()


def _next_change(memory: _Memory, cooldown: timedelta, *, may_begin: bool) -> datetime | None:
    """When the storm would end or begin without an event."""
    if memory.storm is not None and memory.storm.is_active:
        return memory.storm.ends(cooldown) if memory.storm.is_cooling else None
    if may_begin and memory.first_deadline is not None:
        return memory.first_deadline + JUST_AFTER
    return None
