"""Verdict: the health of one target by a check: healthy, waiting until a deadline, or expired.

Rule (NHC 2.1/9): a condition of the same type and status as one of the check's rules matches. A match
expires strictly after its lastTransitionTime plus the duration; the first expired match in the check's order
counts. Without an expired match, the match with the earliest deadline runs a timer. A rule whose type the
target lacks never matches. After a blind period (an upgrade), clocks restart from its end (rule 37).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from health.model.node import Node, NodeCondition
from objects.durations import in_words
from objects.frozen import Frozen
from objects.short_text import ShortText
from objects.timestamps import stamp


class Health(StrEnum):
    """The three possible verdicts on a target."""

    HEALTHY = "Healthy"
    WAITING = "Waiting"
    EXPIRED = "Expired"


class Fact(Frozen):
    """The condition behind a verdict, with its time. An act compares facts, never ages."""

    condition: ShortText
    status: ShortText
    since: datetime
    is_moving: bool = False
    """Whether `since` may grow while the condition stays: it is the time of something else."""

    @property
    def identity(self) -> str:
        """Distinguishes it from other facts of the target."""
        return f"{self.condition} is {self.status}" if self.is_moving else str(self)

    def same_as(self, other: "Fact | None") -> bool:
        """True if both state the same condition; a time that moves by itself is not compared."""
        if other is None or (self.condition, self.status) != (other.condition, other.status):
            return False
        return self.since == other.since or self.is_moving or other.is_moving

    def __str__(self) -> str:
        return f"{self.condition} is {self.status} since {stamp(self.since)}"


@dataclass(frozen=True)
class UnhealthyCondition:
    """A rule of a check: this condition makes a target unhealthy once it lasted for `duration`."""

    type: str
    status: str
    duration: timedelta


class TypedCondition(Protocol):
    """A condition of any object, with the fields that verdicts use."""

    @property
    def type(self) -> str: ...

    @property
    def last_transition_time(self) -> datetime | None: ...


@dataclass(frozen=True)
class Verdict:
    """The verdict with its reason; unless the target is healthy, with `fact` and `deadline`."""

    health: Health
    reason: str
    fact: Fact | None = None
    deadline: datetime | None = None

    def failed(self, now: datetime) -> datetime:
        return self.fact.since if self.fact else now


HEALTHY = Verdict(Health.HEALTHY, "no unhealthy condition")


def fact_of(condition: NodeCondition, node: Node) -> Fact:
    """The fact that `condition` states; without a transition time, since the creation of the Node."""
    since = condition.last_transition_time or node.metadata.creation_timestamp
    return Fact(condition=condition.type, status=condition.status, since=since)


def verdict(
    node: Node, rules: Sequence[UnhealthyCondition], now: datetime, blind_until: datetime | None = None
) -> Verdict:
    """The verdict of `rules` on `node`; conditions older than `blind_until` count from then."""
    return judged(matches(node, rules, blind_until), now)


@dataclass(frozen=True)
class Match:
    """A fact that a rule calls unhealthy, with the duration that the rule allows."""

    fact: Fact
    duration: timedelta
    blind_until: datetime | None = None

    @property
    def began(self) -> datetime:
        return max(self.fact.since, self.blind_until or self.fact.since)

    @property
    def words(self) -> str:
        """The fact, and from when it counts if that is later."""
        is_delayed = self.began != self.fact.since
        return f"{self.fact}, counted since {stamp(self.began)}" if is_delayed else str(self.fact)

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


def judged(found: Sequence[Match], now: datetime) -> Verdict:
    """The verdict at `now` for all matches of a target, in the order of the rules."""
    if not found:
        return HEALTHY
    for match in found:
        if now > match.deadline:
            reason = f"{match.words}, longer than {in_words(match.duration)}"
            return Verdict(Health.EXPIRED, reason, match.fact, match.deadline)
    match = min(found, key=lambda match: match.deadline)
    return Verdict(Health.WAITING, match.waiting, match.fact, match.deadline)


def last_transition(
    conditions: Iterable[TypedCondition], rules: Iterable[UnhealthyCondition]
) -> datetime | None:
    """When one of the conditions used by `rules` changed last; None: unknown."""
    types = {rule.type for rule in rules}
    times = (condition.last_transition_time for condition in conditions if condition.type in types)
    return max((time for time in times if time is not None), default=None)


def matches(
    node: Node, rules: Sequence[UnhealthyCondition], blind_until: datetime | None = None
) -> list[Match]:
    """The matches in the order of the rules; a Node has at most one condition of a type."""
    return [
        Match(fact_of(condition, node), rule.duration, blind_until)
        for rule in rules
        for condition in node.status.conditions
        if (condition.type, condition.status) == (rule.type, rule.status)
    ]
