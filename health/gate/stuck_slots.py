"""StuckSlots: remediations that fill a limit for so long that a person should look. Pure.

A slot is stuck once its remediation has been in progress for over an hour while a target waits for the slot.
By then something is wrong: a classic remediation is overdue after 30 minutes, and steps of an escalation
take minutes each. The request hangs on a finalizer, its remediator is gone, or every step failed. A shorter
time would warn about slow remediators. While no target waits, a long remediation does no harm here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.gate.limits import Remediation, Scope, ScopesOf, Waiting
from health.model.references import CheckReference
from objects.durations import in_words
from objects.timestamps import stamp

STUCK_AFTER = timedelta(hours=1)
_MOST_NAMES = 5


@dataclass(frozen=True)
class UnderWay:
    """A remediation that has begun and is not over."""

    target: str
    remediation: Remediation
    since: datetime
    """The creation of its request or its deletion; for a mark, when the detector first saw it."""

    def __str__(self) -> str:
        return f"{self.target} of {self.remediation.check} since {stamp(self.since)}"


@dataclass(frozen=True)
class StuckSlots:
    """The stuck slots of one limit."""

    limit: str
    """The limit in words."""
    check: CheckReference | None
    """The check whose annotation sets the limit; None: the policy sets it."""
    holders: tuple[UnderWay, ...]
    """The oldest first."""
    waiting: frozenset[CheckReference]
    """The checks of the waiting targets."""

    def __str__(self) -> str:
        names = ", ".join(map(str, self.holders[:_MOST_NAMES]))
        more = len(self.holders) - _MOST_NAMES
        others = f", and {more} more" if more > 0 else ""
        since = f"in progress for over {in_words(STUCK_AFTER)}"
        return f"{self.limit} is reached, and these have been {since}: {names}{others}"


@dataclass(frozen=True)
class _Limit:
    words: str
    most: int
    counts: Callable[[Remediation], bool]


def stuck_slots(
    scopes_of: ScopesOf, under_way: Sequence[UnderWay], waiting: Iterable[Waiting], now: datetime
) -> tuple[StuckSlots, ...]:
    """The limits in flight that remediations have filled for too long while targets wait."""
    found: dict[str, StuckSlots] = {}
    for remediation in {one.remediation.counts_as: one.remediation for one in waiting}.values():
        for scope in scopes_of(remediation.check):
            for limit in _limits(scope, remediation):
                stuck = _stuck(limit, scope, under_way, now)
                if stuck:
                    known = found[limit.words].waiting if limit.words in found else frozenset()
                    checks = known | {remediation.check}
                    found[limit.words] = StuckSlots(limit.words, scope.check, stuck, checks)
    return tuple(found[words] for words in sorted(found))


def _stuck(limit: _Limit, scope: Scope, under_way: Iterable[UnderWay], now: datetime) -> tuple[UnderWay, ...]:
    holders = [
        one
        for one in under_way
        if scope.check in (None, one.remediation.check) and limit.counts(one.remediation)
    ]
    if len(holders) < limit.most:
        return ()
    old = [one for one in holders if now - one.since > STUCK_AFTER]
    return tuple(sorted(old, key=lambda one: (one.since, one.target)))


def _limits(scope: Scope, wanted: Remediation) -> Iterator[_Limit]:
    """The limits that apply to a remediation; a label that is unknown counts for every value."""
    most = scope.limits.max_in_flight
    if most is not None:
        yield _Limit(f"maxInFlight={most} of {scope.chosen_by}", most, lambda _: True)
    for label, most_of_value in scope.limits.max_in_flight_by_label.items():
        value = wanted.labels.get(label)
        where = f"{label}={'?' if value is None else value}"
        words = f"maxInFlightByLabel {where}: {most_of_value} of {scope.chosen_by}"
        yield _Limit(words, most_of_value, _counts_for(label, value))


def _counts_for(label: str, value: str | None) -> Callable[[Remediation], bool]:
    return lambda one: value is None or one.labels.get(label) in (None, value)
