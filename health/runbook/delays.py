"""Delays: where the time from a failure to its remediation goes, as an incident sees it. Pure.

The parts are: wait (the duration of the check, and a blind period before it), hold (any reason to hold, and
orders of people), queue (the hold `Limit`), and act (all the rest, from the admission to the request). Time
without an answer of the detector counts like the state before it.
"""

from datetime import datetime
from enum import StrEnum
from typing import Self

from health.check.ordered import Trigger, is_by_order, trigger_of
from health.model.observation import HoldReason, Observation, TargetState
from health.model.verdict import Fact
from objects.frozen import Frozen, OpenEnum


class Part(StrEnum):
    """A part of the time from a failure to its remediation, as the metric names it."""

    WAIT = "wait"
    HOLD = "hold"
    QUEUE = "queue"
    ACT = "act"


class RequestDelay(Frozen):
    """The times of one failure up to an act."""

    failed: datetime
    deadline: datetime
    hold_seconds: float = 0
    queue_seconds: float = 0
    trigger: OpenEnum[Trigger] = Trigger.AUTOMATED
    """Manual: `failed` is the time of a person's order."""

    def parts(self, requested: datetime) -> dict[Part, float]:
        """The seconds of each part if the request was made then; their sum is the whole time.

        Clocks differ and times of Kubernetes are whole seconds, so a part is cut to what is left.
        """
        left = max(0.0, (requested - self.failed).total_seconds())
        measured = {
            Part.WAIT: (self.deadline - self.failed).total_seconds(),
            Part.HOLD: self.hold_seconds,
            Part.QUEUE: self.queue_seconds,
        }
        found: dict[Part, float] = {}
        for part, seconds in measured.items():
            found[part] = min(max(0.0, seconds), left)
            left -= found[part]
        return {**found, Part.ACT: left}


class Delays(Frozen):
    """The failure that the present remediation is for, and how long it was held and queued so far."""

    fact: Fact | None = None
    """The failure; None: none was seen."""
    deadline: datetime | None = None
    hold_seconds: float = 0
    queue_seconds: float = 0
    since: datetime | None = None
    """Since when it has been held or queued; None: it is neither."""
    is_queued: bool = False
    """True while it is queued, False while it is held."""

    def observed(
        self, observation: Observation, now: datetime, *, is_blocked: bool, is_before_the_first_step: bool
    ) -> Self:
        """The delays after an observation; a new failure starts new ones only before the first step."""
        delays = self._of(observation) if is_before_the_first_step else self
        part = _part_of(observation, is_blocked=is_blocked)
        return delays if part is delays.part else delays.moved_to(part, now)

    def before_act(self, now: datetime) -> RequestDelay | None:
        """The times up to an act at `now`; None without a failure."""
        if self.fact is None or self.deadline is None:
            return None
        until = self.moved_to(None, now)
        return RequestDelay(
            failed=self.fact.since,
            deadline=self.deadline,
            hold_seconds=until.hold_seconds,
            queue_seconds=until.queue_seconds,
            trigger=trigger_of(is_ordered=is_by_order(self.fact)),
        )

    def _of(self, observation: Observation) -> Self:
        if observation.fact is None or observation.deadline is None:
            return self
        if observation.fact.same_as(self.fact):
            return self.model_copy(update={"deadline": observation.deadline})
        return type(self)(fact=observation.fact, deadline=observation.deadline)

    @property
    def part(self) -> Part | None:
        """Hold or queue, if it is in one of them."""
        if self.since is None:
            return None
        return Part.QUEUE if self.is_queued else Part.HOLD

    def moved_to(self, part: Part | None, now: datetime) -> Self:
        """The delays with `part` beginning at `now`; a hold before the deadline delays nothing."""
        changes: dict[str, object] = {"since": now if part else None, "is_queued": part is Part.QUEUE}
        if self.since is not None:
            spent = (now - max(self.since, self.deadline or self.since)).total_seconds()
            counted = "queue_seconds" if self.is_queued else "hold_seconds"
            changes[counted] = getattr(self, counted) + max(0.0, spent)
        return self.model_copy(update=changes)


def _part_of(observation: Observation, *, is_blocked: bool) -> Part | None:
    if observation.state not in (TargetState.EXPIRED, TargetState.UNKNOWN):
        return None
    reason = observation.hold.reason if observation.hold else None
    if is_blocked:
        return Part.HOLD
    if reason is None or reason is HoldReason.NO_ADMISSION:
        return None
    return Part.QUEUE if reason is HoldReason.LIMIT else Part.HOLD
