"""Limits: how many remediations may be under way, and how many may begin within an hour.

They are chosen for the whole cluster by the policy, and for one check by annotations; nothing is limited that
nobody chose. A remediation begins with its first request, deletion or mark, and is under way until nothing of
that is left; the next step of an escalation begins nothing. One must satisfy every limit that bears on it, so
the most restrictive wins. Who is unhealthy for longer comes first (`next_in_line`).

A target whose label nobody can tell, as its Node is gone, counts for every value of the label: the number for
a value is never above what was chosen.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from objects.bounds import Bounded

HOUR = timedelta(hours=1)
MOST = 100_000
_LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_WAKES = 30 * 60.0
"""Whoever waits for another remediation to end is woken then; this is but when it asks again all the same."""


def label_name(name: str) -> str:
    """`name`, if a label may be called so."""
    if not _LABEL.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a label")
    return name


Count = Annotated[int, Field(strict=True, ge=1, le=MOST)]
"""None at all would be a stop, which has a command of its own."""
ByLabel = Mapping[Annotated[str, AfterValidator(label_name)], Count]


class Limits(Bounded):
    """What is chosen in one place."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    max_in_flight: Count | None = None
    """Remediations that are under way."""
    max_in_flight_by_label: ByLabel = Field(default_factory=dict)
    """The same for each value of a label of the Node, by the name of the label."""
    max_starts_per_hour: Count | None = None

    @property
    def is_off(self) -> bool:
        """Whether nothing is limited."""
        return not (self.max_in_flight or self.max_in_flight_by_label or self.max_starts_per_hour)


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Scope:
    """Limits, and the remediations that count for them."""

    limits: Limits
    chosen_by: str
    """In words."""
    check: CheckReference | None = None
    """That of the remediations; None: of all checks."""


ScopesOf = Callable[[CheckReference], Iterable[Scope]]
"""Which limits bear on a remediation of a check."""


@dataclass(frozen=True)
class Remediation:
    """One that is under way, or is to begin."""

    check: CheckReference
    labels: Mapping[str, str | None]
    """Of its Node; "" where it has no such label, None or missing where nobody can tell."""


@dataclass(frozen=True)
class Waiting:
    """A target that would be remediated but for the limits."""

    since: datetime
    """Since when it is unhealthy."""
    name: str
    """Settles who comes first of those that failed in the same second."""
    remediation: Remediation

    @property
    def place(self) -> tuple[datetime, str]:
        """Its place in the line: the earlier, the sooner."""
        return self.since, self.name


_Key = tuple[CheckReference | None, str, str | None]


class Tally:
    """The remediations of one moment, counted by what limits them."""

    def __init__(self, scopes_of: ScopesOf, now: datetime) -> None:
        self._scopes_of = scopes_of
        self._now = now
        self._under_way: Counter[_Key] = Counter()
        self._first: Counter[_Key] = Counter()
        self._starts: dict[CheckReference | None, list[datetime]] = {}

    def count(self, remediation: Remediation) -> None:
        """One that is under way."""
        self._under_way.update(self._keys(remediation))

    def count_start(self, check: CheckReference, began: datetime) -> None:
        """One that began, whether it is under way still or not."""
        if began <= self._now - HOUR:
            return
        for scope in self._scopes_of(check):
            self._starts.setdefault(scope.check, []).append(began)

    def let_go_first(self, remediation: Remediation) -> None:
        """One that is to begin before any that is asked about from now on."""
        self._first.update(self._keys(remediation))
        self.count_start(remediation.check, self._now)

    def _keys(self, remediation: Remediation) -> Iterable[_Key]:
        for scope in self._scopes_of(remediation.check):
            yield (scope.check, "", "")
            for label in scope.limits.max_in_flight_by_label:
                yield (scope.check, label, remediation.labels.get(label))

    def refusal(self, wanted: Remediation) -> Hold | None:
        """Why it may not begin now; None: it may."""
        holds = (hold for scope in self._scopes_of(wanted.check) for hold in self._refusals(scope, wanted))
        return next(holds, None)

    def _refusals(self, scope: Scope, wanted: Remediation) -> Iterable[Hold]:
        limits = scope.limits
        if limits.max_in_flight is not None:
            yield from self._too_many([(scope.check, "", "")], "", limits.max_in_flight, scope)
        for label, most in limits.max_in_flight_by_label.items():
            value = wanted.labels.get(label)
            keys = self._keys_of_label(scope, label, value)
            where = f" with {label}={'?' if value is None else value}"
            yield from self._too_many(keys, where, most, scope)
        if limits.max_starts_per_hour is not None:
            yield from self._too_often(limits.max_starts_per_hour, scope)

    def _keys_of_label(self, scope: Scope, label: str, value: str | None) -> list[_Key]:
        """What counts for a value: it and what nobody can tell; for one that nobody can tell everything."""
        if value is not None:
            return [(scope.check, label, value), (scope.check, label, None)]
        known = {*self._under_way, *self._first}
        return [key for key in known if key[:2] == (scope.check, label)]

    def _too_many(self, keys: Iterable[_Key], where: str, most: int, scope: Scope) -> Iterable[Hold]:
        keys = list(keys)
        under_way, first = (sum(counted[key] for key in keys) for counted in (self._under_way, self._first))
        if under_way + first < most:
            return
        waits = "waits" if first == 1 else "wait"
        more = f", {first} that {waits} for longer {'comes' if first == 1 else 'come'} first" if first else ""
        words = f"{_counted(under_way, 'is', 'are')} under way{where}{more}"
        yield _hold(f"{words}, at most {most} allowed by {scope.chosen_by}", _WAKES)

    def _too_often(self, most: int, scope: Scope) -> Iterable[Hold]:
        starts = sorted(self._starts.get(scope.check, ()))
        if len(starts) < most:
            return
        words = f"{_counted(len(starts), 'began', 'began')} within the last hour"
        again = starts[len(starts) - most] + HOUR - self._now
        message = f"{words}, at most {most} allowed by {scope.chosen_by}"
        yield _hold(message, max(1.0, again.total_seconds()))


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} remediation{'' if number == 1 else 's'} {one if number == 1 else more}"


def _hold(words: str, ask_again_seconds: float) -> Hold:
    return Hold(reason=HoldReason.LIMIT, message=f"held: {words}", ask_again_seconds=ask_again_seconds)


def next_in_line(line: Iterable[Waiting], tally: Tally) -> list[Waiting]:
    """Which of those in the line may begin now, who waits longest first; the tally counts them then.

    Who is refused keeps nobody from beginning whom the same limit does not hold, as of another zone.
    """
    admitted = []
    for one in sorted(line, key=lambda one: one.place):
        if tally.refusal(one.remediation) is None:
            tally.let_go_first(one.remediation)
            admitted.append(one)
    return admitted
