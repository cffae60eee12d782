"""Verdict: the health of one target by a check: healthy, waiting until a deadline, or expired.

Rule (NHC 2.1/9): a condition of the same type and status as one of the check's rules matches. A match
expires strictly after its lastTransitionTime plus the duration; the first expired match in the check's order
counts. Without an expired match, the match with the earliest deadline runs a timer. A rule whose type the
target lacks never matches. By sightings a failure may have begun at another time than its transition says
(`sighting.py`). After a blind period (an upgrade), clocks restart from its end (rule 37).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Self, TypeVar

from pydantic import Field

from health.model.node import Node
from health.model.owner_signs import SignSighting
from health.model.sighting import Restart, RestartCause, Sighted, Sighting, TypedCondition
from objects.durations import in_words
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText
from objects.timestamps import stamp

OF_MACHINE = "Machine/"
"""Prefix of the type of a Machine's condition in a fact, to distinguish it from a Node's."""
Seen = TypeVar("Seen", bound=Sighted)


class Health(StrEnum):
    """The three possible verdicts on a target."""

    HEALTHY = "Healthy"
    WAITING = "Waiting"
    EXPIRED = "Expired"


class StatedBy(StrEnum):
    """The clock that says since when a condition has its status."""

    OBJECT = "Object"
    """The transition time of the condition, or the time of its object."""
    DETECTOR = "Detector"
    """The first look of the detector, because the transition time contradicts the looks."""
    DETECTOR_ALONE = "DetectorAlone"
    """The first look of the detector, because the condition has no time."""


class Fact(Frozen):
    """The condition behind a verdict, with its time. An act compares facts, never ages."""

    condition: ShortText
    status: ShortText
    since: datetime
    is_moving: bool = False
    """True if `since` may grow while the condition stays: it is the time of something else."""
    stated_by: OpenEnum[StatedBy] = StatedBy.OBJECT
    written: datetime | None = None
    """The time that the live object states, if that is not `since`."""
    rewritten: int = 0
    """How often that time was written anew while the status stayed."""
    changes: int = 0
    """How often the status changed, in a row of changes that are at most an hour apart."""

    @property
    def identity(self) -> str:
        """Distinguishes it from other facts of the target."""
        return f"{self.condition} is {self.status}" if self.is_moving else str(self)

    def same_as(self, other: "Fact | None") -> bool:
        """True if both state the same condition; a time that moves by itself is not compared."""
        if other is None or (self.condition, self.status) != (other.condition, other.status):
            return False
        return self.since == other.since or self.is_moving or other.is_moving

    def is_stated_by(self, live: "Fact") -> bool:
        """True if an object that was just read states this fact; the object brings no sightings with it."""
        if (self.condition, self.status) != (live.condition, live.status):
            return False
        may_be_other = self.is_moving or live.is_moving or self.rewritten > 0
        return may_be_other or (self.written or self.since) == live.since

    @property
    def by_clock(self) -> str:
        """Whose clock says since when; "" for the clock of the object."""
        if self.rewritten:
            return "its own time is written anew again and again"
        if self.stated_by == StatedBy.DETECTOR_ALONE:
            return "first seen then, as it has no time of its own"
        if self.stated_by == StatedBy.DETECTOR and self.written is not None:
            return f"first seen then, while its own time is {stamp(self.written)}"
        return ""

    @property
    def words(self) -> str:
        """The fact, and whose clock states its time if that is not its own."""
        by_clock = self.by_clock
        return f"{self} ({by_clock})" if by_clock else str(self)

    @property
    def course(self) -> str:
        """How often its status changed, or its time was written anew; "" if neither happened."""
        changed = f"its status changed {self.changes} times in a row" if self.changes > 1 else ""
        rewritten = f"its time was written anew {self.rewritten} times" if self.rewritten else ""
        return "; ".join(part for part in (changed, rewritten) if part)

    def __str__(self) -> str:
        return f"{self.condition} is {self.status} since {stamp(self.since)}"


class CountedFact(Frozen):
    """A failure as its incident counts it, which outlives the detector that saw its beginning."""

    fact: Fact
    counted_from: datetime
    as_of: datetime
    """When the detector saw that; restarts until then are in `counted_from`."""
    signs: tuple[SignSighting, ...] = ()
    """Since when the signs of owners at work are seen."""

    @property
    def words(self) -> str:
        """Since when, by whose clock, and what restarted its timer how often."""
        is_restarted = self.counted_from != self.fact.since
        counted = f"counted since {stamp(self.counted_from)}" if is_restarted else ""
        return "; ".join(part for part in (self.fact.words, counted, self.fact.course) if part)

    def on(self, seen_on: Seen, name: str) -> Seen:
        """The object with what was seen of it before; `name` is the type of the condition on it."""
        fact, known, counted = self.fact, seen_on.sighting(name), seen_on.with_signs_since(self.signs)
        condition = next((found for found in seen_on.timed if found.type == name), None)
        if condition is None or (known is not None and not known.is_first):
            return counted  # the failure does not stand any more, or it is known
        live = Fact(
            condition=fact.condition,
            status=fact.status if fact.is_moving else condition.status,
            since=condition.last_transition_time or seen_on.metadata.creation_timestamp,
        )
        if not fact.is_stated_by(live):
            return counted
        sighting = Sighting(
            since=fact.since,
            seen=fact.since,
            rewritten=fact.rewritten,
            changes=fact.changes,
            counted_from=self.counted_from,
            as_of=self.as_of,
        )
        return counted.with_sightings({**(seen_on.sightings or {}), name: sighting})


Text = Annotated[str, Field(min_length=1)]


class UnhealthyCondition(Frozen):
    """A rule of a check: this condition makes a target unhealthy once it lasted for `duration`.

    Each kind of check adds how its API writes the duration.
    """

    type: Text
    status: Text
    duration: timedelta


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict with its reason; unless the target is healthy, with `fact` and `deadline`."""

    health: Health
    reason: str
    fact: Fact | None = None
    deadline: datetime | None = None
    counted_from: datetime | None = None
    """From when the timer of `fact` counts."""

    def failed(self, now: datetime) -> datetime:
        return self.fact.since if self.fact else now


HEALTHY = Verdict(health=Health.HEALTHY, reason="no unhealthy condition")


def fact_of(condition: TypedCondition, seen_on: Sighted, prefix: str = "") -> Fact:
    """The fact that a condition of an object states, as sighted; `prefix` precedes the type."""
    own, sighting = condition.last_transition_time, seen_on.sighting(condition.type)
    written, since = own or seen_on.metadata.creation_timestamp, seen_on.since(condition)
    rewritten = 0 if sighting is None else sighting.rewritten
    stated_by = StatedBy.OBJECT if since == written or rewritten else StatedBy.DETECTOR
    return Fact(
        condition=f"{prefix}{condition.type}",
        status=condition.status,
        since=since,
        stated_by=StatedBy.DETECTOR_ALONE if own is None and sighting is not None else stated_by,
        written=None if written == since else written,
        rewritten=rewritten,
        changes=0 if sighting is None else sighting.changes,
    )


@dataclass(frozen=True, kw_only=True)
class Match:
    """A fact that a rule calls unhealthy, with the duration that the rule allows."""

    fact: Fact
    duration: timedelta = timedelta()
    restarts: Sequence[Restart] = ()
    sighting: Sighting | None = None
    not_before: datetime | None = None
    """The fact is not believed before this time; None: at once."""
    bases: Sequence[datetime] = ()
    """The fact counts from the latest of these times; a time that is ahead is not believed."""

    def verdict(self, health: Health, reason: str) -> Verdict:
        return Verdict(
            health=health, reason=reason, fact=self.fact, deadline=self.deadline, counted_from=self.began
        )

    def at(self, now: datetime) -> Self:
        """The same without the work of owners that may end later, and without a base that is ahead."""
        come = [r for r in self.restarts if r.at <= now or r.cause is not RestartCause.OWNER]
        found = self if len(come) == len(self.restarts) else replace(self, restarts=come)
        believed = max((base for base in self.bases if base <= now), default=None)
        if believed is None or self.fact.since <= now:
            return found
        changes = {"since": believed, "written": self.fact.since, "stated_by": StatedBy.DETECTOR}
        return replace(found, fact=self.fact.model_copy(update=changes))

    @property
    def rule_key(self) -> tuple[str, str, timedelta]:
        """Distinguishes the rule from others of its check, of the Node or of the Machine."""
        return self.fact.condition, self.fact.status, self.duration

    @cached_property
    def restart(self) -> Restart | None:
        """The latest restart of its timer since the failure; None: there was none."""
        since = self.fact.since
        found = (r for r in self.restarts if r.at > since and r.restarts(self.duration, self.sighting))
        return max(found, key=lambda restart: restart.at, default=None)

    @property
    def began(self) -> datetime:
        """The begin of its timer: the failure, or the latest restart after it."""
        counted = None if self.sighting is None else self.sighting.counted_from
        restarted = None if self.restart is None else self.restart.at
        times = (self.fact.since, counted, restarted, self.not_before)
        return max(time for time in times if time is not None)

    @property
    def words(self) -> str:
        """The fact, whose clock states its time, and from when it counts if that is later."""
        if self.began == self.fact.since:
            return self.fact.words
        is_by_restart = self.restart is not None and self.restart.at == self.began
        why = f", {self.restart.cause}" if self.restart is not None and is_by_restart else ""
        return f"{self.fact.words}, counted since {stamp(self.began)}{why}"

    @property
    def waiting(self) -> str:
        """The condition that the target waits for, in words."""
        if self.duration:
            return f"{self.words}, waiting for {in_words(self.duration)}"
        return f"{self.fact.condition} is {self.fact.status}, not believed before {stamp(self.deadline)}"

    @property
    def deadline(self) -> datetime:
        """The last moment at which it is not expired."""
        return self.began + self.duration


def match_of(
    condition: TypedCondition,
    seen_on: Sighted,
    duration: timedelta,
    restarts: Sequence[Restart] = (),
    prefix: str = "",
) -> Match:
    sighting = seen_on.sighting(condition.type)
    return Match(
        fact=fact_of(condition, seen_on, prefix), duration=duration, restarts=restarts, sighting=sighting
    )


def judged(found: Sequence[Match], now: datetime) -> Verdict:
    """The verdict at `now` for all matches of a target, in the order of the rules."""
    if not found:
        return HEALTHY
    found = [match.at(now) for match in found]
    for match in found:
        if now > match.deadline:
            reason = f"{match.words}, longer than {in_words(match.duration)}"
            return match.verdict(Health.EXPIRED, reason)
    match = min(found, key=lambda match: match.deadline)
    return match.verdict(Health.WAITING, match.waiting)


def last_transition(seen_on: Sighted | None, rules: Iterable[UnhealthyCondition]) -> datetime | None:
    """When one of the conditions of an object that `rules` use changed last, as sighted; None: unknown."""
    types = {rule.type for rule in rules}
    found = () if seen_on is None else seen_on.timed
    times = [
        seen_on.since(condition)
        for condition in found
        if seen_on is not None and condition.type in types
        if condition.last_transition_time is not None or seen_on.sighting(condition.type) is not None
    ]
    return max(times, default=None)


def matches(node: Node, rules: Sequence[UnhealthyCondition], restarts: Sequence[Restart] = ()) -> list[Match]:
    """The matches in the order of the rules; `restarts` are the moments from which timers count anew."""
    return [
        match_of(condition, node, rule.duration, restarts)
        for rule in rules
        for condition in node.status.conditions
        if (condition.type, condition.status) == (rule.type, rule.status)
    ]
