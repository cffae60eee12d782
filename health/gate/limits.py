"""Limits: how many remediations may be under way, and how many may begin within an hour.

They are chosen for the whole cluster by the policy, and for one check by annotations; nothing is limited that
nobody chose. A remediation begins with its first request, deletion or mark, and is under way until nothing of
that is left; the next step of an escalation begins nothing. One must satisfy every limit that bears on it, so
the most restrictive wins. Who is unhealthy for longer comes first (`next_in_line`).

A target whose label nobody can tell, as its Node is gone, counts for every value of the label: the number for
a value is never above what was chosen.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_QUALIFIED_NAME = re.compile(
    r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_WAKES = 30 * 60.0
"""Whoever waits for another remediation to end is woken then; this is but when it asks again all the same."""


def is_qualified_name(name: str) -> bool:
    """Whether Kubernetes takes `name` for the key of a label or a taint."""
    return _QUALIFIED_NAME.fullmatch(name) is not None


def label_name(name: str) -> str:
    """`name`, if a label may be called so."""
    if not is_qualified_name(name):
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

    def __str__(self) -> str:
        """The same text for the same limits; "" where nothing is limited."""
        chosen = {
            "maxInFlight": self.max_in_flight,
            **{f"maxInFlight[{label}]": most for label, most in sorted(self.max_in_flight_by_label.items())},
            "maxStartsPerHour": self.max_starts_per_hour,
        }
        return ", ".join(f"{name}={number}" for name, number in chosen.items() if number is not None)


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

    @property
    def counts_as(self) -> tuple[CheckReference, frozenset[tuple[str, str | None]]]:
        """Equal for those that the same limits bear on in the same way."""
        return self.check, frozenset(self.labels.items())


Place = tuple[datetime, str]
"""In the line: the earlier, the sooner."""


@dataclass(frozen=True)
class Waiting:
    """A target that would be remediated but for the limits."""

    since: datetime
    """Since when it is unhealthy."""
    name: str
    """Settles who comes first of those that failed in the same second."""
    remediation: Remediation

    @property
    def place(self) -> Place:
        """Its place in the line: the earlier, the sooner."""
        return self.since, self.name


_Key = tuple[CheckReference | None, str, str | None]


class Tally:
    """The remediations that count, by what limits them; who asks says what time it is."""

    def __init__(self, scopes_of: ScopesOf) -> None:
        self._scopes_of = scopes_of
        self._under_way: Counter[_Key] = Counter()
        self._first: defaultdict[_Key, list[Place]] = defaultdict(list)
        """The places of those that were let go first, in order."""
        self._starts: defaultdict[CheckReference | None, list[datetime]] = defaultdict(list)
        """In order."""

    def count(self, remediation: Remediation) -> None:
        """One that is under way."""
        self._under_way.update(self._keys(remediation))

    def count_start(self, check: CheckReference, began: datetime) -> None:
        """One that began, whether it is under way still or not."""
        for scope in self._scopes_of(check):
            insort(self._starts[scope.check], began)

    def let_go_first(self, one: Waiting) -> None:
        """One that is to begin before any whose place is behind its own."""
        for key in self._keys(one.remediation):
            insort(self._first[key], one.place)

    def let_nobody_go_first(self) -> None:
        """All whom it counts so may begin with any other."""
        self._first.clear()

    def _keys(self, remediation: Remediation) -> Iterable[_Key]:
        for scope in self._scopes_of(remediation.check):
            yield _key_of_all(scope)
            for label in scope.limits.max_in_flight_by_label:
                yield (scope.check, label, remediation.labels.get(label))

    def refusal(self, wanted: Waiting, now: datetime) -> Hold | None:
        """Why it may not begin now; None: it may."""
        holds = (
            hold
            for scope in self._scopes_of(wanted.remediation.check)
            for hold in self._refusals(scope, wanted, now)
        )
        return next(holds, None)

    def _refusals(self, scope: Scope, wanted: Waiting, now: datetime) -> Iterable[Hold]:
        limits = scope.limits
        if limits.max_in_flight is not None:
            yield from self._too_many([_key_of_all(scope)], "", limits.max_in_flight, scope, wanted)
        for label, most in limits.max_in_flight_by_label.items():
            value = wanted.remediation.labels.get(label)
            keys = self._keys_of_label(scope, label, value)
            where = f" with {label}={'?' if value is None else value}"
            yield from self._too_many(keys, where, most, scope, wanted)
        if limits.max_starts_per_hour is not None:
            yield from self._too_often(limits.max_starts_per_hour, scope, wanted, now)

    def _keys_of_label(self, scope: Scope, label: str, value: str | None) -> list[_Key]:
        """What counts for a value: it and what nobody can tell; for one that nobody can tell everything."""
        if value is not None:
            return [(scope.check, label, value), (scope.check, label, None)]
        known = {*self._under_way, *self._first}
        return [key for key in known if key[:2] == (scope.check, label)]

    def _too_many(
        self, keys: Sequence[_Key], where: str, most: int, scope: Scope, wanted: Waiting
    ) -> Iterable[Hold]:
        under_way = sum(self._under_way[key] for key in keys)
        first = sum(self._before(wanted, key) for key in keys)
        if under_way + first < most:
            return
        waits = "waits" if first == 1 else "wait"
        more = f", {first} that {waits} for longer {'comes' if first == 1 else 'come'} first" if first else ""
        words = f"{_counted(under_way, 'is', 'are')} under way{where}{more}"
        yield limit_hold(f"{words}, at most {most} allowed by {scope.chosen_by}", _WAKES)

    def _too_often(self, most: int, scope: Scope, wanted: Waiting, now: datetime) -> Iterable[Hold]:
        """Those that are let go first begin now."""
        starts = self._starts.get(scope.check, [])
        oldest = bisect_right(starts, now - HOUR)
        number = len(starts) - oldest + self._before(wanted, _key_of_all(scope))
        if number < most:
            return
        words = f"{_counted(number, 'began', 'began')} within the last hour"
        frees = oldest + number - most
        again = starts[frees] + HOUR - now if frees < len(starts) else HOUR
        yield limit_hold(f"{words}, at most {most} allowed by {scope.chosen_by}", again.total_seconds())

    def _before(self, wanted: Waiting, key: _Key) -> int:
        return bisect_left(self._first[key], wanted.place) if key in self._first else 0


def _key_of_all(scope: Scope) -> _Key:
    return (scope.check, "", "")


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} remediation{'' if number == 1 else 's'} {one if number == 1 else more}"


def limit_hold(words: str, ask_again_seconds: float) -> Hold:
    """What it means for an incident that it would be one too many, or that nobody knows whether."""
    return Hold(reason=HoldReason.LIMIT, message=words, ask_again_seconds=max(1.0, ask_again_seconds))


def next_in_line(line: Iterable[Waiting], tally: Tally, now: datetime) -> list[Waiting]:
    """Which of those in the line may begin now, who waits longest first; the tally counts these then.

    Who is refused keeps nobody from beginning whom the same limit does not hold, as of another zone.
    """
    tally.let_nobody_go_first()
    admitted, refused = [], set()
    for one in sorted(line, key=lambda one: one.place):
        alike = one.remediation.counts_as
        if alike in refused:  # as it was for whoever came before: nothing was freed since
            continue
        if tally.refusal(one, now) is None:
            tally.let_go_first(one)
            admitted.append(one)
        else:
            refused.add(alike)
    return admitted
