"""Replays recorded incidents under another threshold, other windows or other limits. Pure.

A recorded incident says when a target failed and when it was healthy again. The replay keeps these times: it
cannot know how long a target that was not remediated would have stayed unhealthy. The number of targets is
that of today.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush

from health.check.threshold import Allowance
from health.model.observation import HoldReason
from health.policy.limits import HOUR, Limits
from health.policy.maintenance_windows import Closed

_A_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True)
class PastIncident:
    """One recorded incident: which target failed, from when until when."""

    check: str
    target: str
    failed: datetime
    ended: datetime | None
    """When the incident ended; None: it is open."""

    def lasts_at(self, time: datetime) -> bool:
        return self.failed <= time and (self.ended is None or time < self.ended)


@dataclass(frozen=True, kw_only=True)
class CheckRules:
    """The rules of one check under which its incidents are replayed."""

    duration: timedelta
    """How long a condition lasts before a target is due."""
    allowance: Callable[[int], Allowance]
    """Returns the decision of the threshold while this number of targets is unhealthy."""
    closed: Callable[[datetime], Closed | None]
    """Returns why the maintenance windows allow no remediation at a time; None if they do."""
    limits: Limits
    """The limits on the check's own remediations."""


@dataclass(frozen=True, kw_only=True)
class ReplayRules:
    """The rules under which incidents are replayed."""

    of_checks: Mapping[str, CheckRules]
    """By check; incidents of other checks are not replayed."""
    limits: Limits
    """The limits of the policy, for the remediations of all checks."""
    now: datetime


@dataclass(frozen=True, kw_only=True)
class ReplayedIncident:
    """One recorded incident under the rules of the replay."""

    incident: PastIncident
    remediated: datetime | None = None
    """When its remediation would have begun; None: it would not have."""
    held_by: str = ""
    """The first reason that would have held it, with its numbers; "": none."""


def replay(past: Iterable[PastIncident], rules: ReplayRules) -> list[ReplayedIncident]:
    """The incidents as the rules would have treated them, in the order of their failures."""
    replayable = [incident for incident in past if incident.check in rules.of_checks]
    replayed = _Replay(
        sorted(replayable, key=lambda incident: (incident.failed, incident.check, incident.target)), rules
    )
    replayed.run()
    return [
        ReplayedIncident(
            incident=incident, remediated=replayed.begun.get(number), held_by=replayed.held.get(number, "")
        )
        for number, incident in enumerate(replayed.past)
    ]


@dataclass(frozen=True)
class _Hold:
    reason: str
    until: datetime | None
    """When to look again, always later; None: nothing recorded would have ended it."""


@dataclass
class _Replay:
    """The incidents, and the decision about each of them by its number in `past`."""

    past: Sequence[PastIncident]
    rules: ReplayRules
    begun: dict[int, datetime] = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)

    def run(self) -> None:
        """Decide about each incident when it is due, and again when its hold may have ended."""
        due = [
            (incident.failed + self._of(incident).duration, number)
            for number, incident in enumerate(self.past)
        ]
        heapify(due)
        while due:
            time, number = heappop(due)
            if time > self.rules.now or not self.past[number].lasts_at(time):
                continue
            hold = self._hold(self.past[number], time)
            if hold is None:
                self.begun[number] = time
                continue
            self.held.setdefault(number, hold.reason)
            if hold.until is not None:
                heappush(due, (hold.until, number))

    def _of(self, incident: PastIncident) -> CheckRules:
        return self.rules.of_checks[incident.check]

    def _hold(self, incident: PastIncident, time: datetime) -> _Hold | None:
        own = self._of(incident)
        closed = own.closed(time)
        if closed is not None:
            until = closed.ends and max(closed.ends, time + _A_MOMENT)
            return _Hold(f"{HoldReason.MAINTENANCE_WINDOW}: {closed.message}", until)
        allowance = own.allowance(self._unhealthy(incident.check, time))
        if not allowance.allowed:
            return _Hold(f"{HoldReason.THRESHOLD}: {allowance.words}", self._next_end(time))
        return self._limit(self.rules.limits, "", time) or self._limit(own.limits, incident.check, time)

    def _unhealthy(self, check: str, time: datetime) -> int:
        return sum(incident.check == check and incident.lasts_at(time) for incident in self.past)

    def _limit(self, limits: Limits, check: str, time: datetime) -> _Hold | None:
        """The limit that a remediation would break; `check` is that of the limits, "" for the policy."""
        counted = {
            number: start for number, start in self.begun.items() if check in ("", self.past[number].check)
        }
        in_flight = sum(self.past[number].lasts_at(time) for number in counted)
        if limits.max_in_flight is not None and in_flight >= limits.max_in_flight:
            words = f"{in_flight} in flight, at most {limits.max_in_flight} allowed"
            return _Hold(f"{HoldReason.LIMIT}: {words}", self._next_end(time))
        starts = sorted(start for start in counted.values() if start > time - HOUR)
        if limits.max_starts_per_hour is not None and len(starts) >= limits.max_starts_per_hour:
            words = f"{len(starts)} begun within an hour, at most {limits.max_starts_per_hour} allowed"
            return _Hold(f"{HoldReason.LIMIT}: {words}", starts[0] + HOUR)
        return None

    def _next_end(self, time: datetime) -> datetime | None:
        """When the next target was healthy again."""
        ends = (
            incident.ended for incident in self.past if incident.ended is not None and incident.ended > time
        )
        return min(ends, default=None)
