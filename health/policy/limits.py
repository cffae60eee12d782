"""Limits: how many remediations may be in progress, and how many may begin within an hour.

The policy sets limits for the whole cluster, and annotations set them for one check; the default is no
limit. A remediation begins with its first request, deletion or mark, and is in progress until these are
gone; the next step of an escalation is not a new one. A remediation must satisfy every limit that applies to
it, so the most restrictive wins. `limit_usage.py` counts, and says which of the waiting targets go first.

Each limit counts remediations by slots. A target with an unknown label, because its Node is gone, counts for
every value of the label, so the limit for a value is never exceeded.

A slot is stuck once its remediation has been in progress for over an hour while a target waits for the slot.
By then something is wrong: a classic remediation is overdue after 30 minutes, and steps of an escalation
take minutes each. The request hangs on a finalizer, its remediator is gone, or every step failed. A shorter
time would warn about slow remediators. While no target waits, a long remediation does no harm here.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from health.model.target import Target
from objects.bounds import Bounded
from objects.durations import in_words
from objects.timestamps import stamp

HOUR = timedelta(hours=1)
MOST = 100_000
STUCK_AFTER = timedelta(hours=1)
_MOST_NAMES = 5
_QUALIFIED_NAME = re.compile(
    r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)


def is_qualified_name(name: str) -> bool:
    """True if `name` is a valid key of a label or a taint."""
    return _QUALIFIED_NAME.fullmatch(name) is not None


def label_name(name: str) -> str:
    """`name`, if it is a valid label name; raises ValueError."""
    if not is_qualified_name(name):
        raise ValueError(f"{name!r} is not a label name")
    return name


Count = Annotated[int, Field(strict=True, ge=1, le=MOST)]
"""At least 1: a limit of zero would be a stop, which has a command of its own."""
LabelName = Annotated[str, AfterValidator(label_name)]
ByLabel = Mapping[LabelName, Count]


class Limits(Bounded):
    """The limits of the policy, or of one check."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    max_in_flight: Count | None = None
    """Remediations in progress."""
    max_in_flight_by_label: ByLabel = Field(default_factory=dict)
    """Remediations in progress for each value of a label of the Node, by label name."""
    max_starts_per_hour: Count | None = None

    @property
    def is_off(self) -> bool:
        return not (self.max_in_flight or self.max_in_flight_by_label or self.max_starts_per_hour)

    def __str__(self) -> str:
        """Equal limits give equal texts; "": there is no limit."""
        chosen = {
            "maxInFlight": self.max_in_flight,
            **{f"maxInFlight[{label}]": most for label, most in sorted(self.max_in_flight_by_label.items())},
            "maxStartsPerHour": self.max_starts_per_hour,
        }
        return ", ".join(f"{name}={number}" for name, number in chosen.items() if number is not None)


NO_LIMITS = Limits()


@dataclass(frozen=True)
class LimitScope:
    """Limits, and the remediations that count for them."""

    limits: Limits
    chosen_by: str
    """The policy or the check, in words."""
    check: CheckReference | None = None
    """The check whose remediations count; None: all checks."""


ScopesOf = Callable[[CheckReference], Iterable[LimitScope]]
"""Returns the limits that apply to a remediation of a check."""


def labels_for(scopes: Iterable[LimitScope], target: Target) -> dict[str, str | None]:
    """The values of the target's labels by which these limits count."""
    names = {name for scope in scopes for name in scope.limits.max_in_flight_by_label}
    return {name: target.node_label(name) for name in names}


@dataclass(frozen=True)
class LimitedRemediation:
    """A remediation that is in progress, or waits to begin."""

    check: CheckReference
    labels: Mapping[str, str | None]
    """Labels of its Node; "": the Node lacks the label, None or missing: unknown."""

    @property
    def counts_as(self) -> tuple[CheckReference, frozenset[tuple[str, str | None]]]:
        """Equal for remediations that every limit counts alike."""
        return self.check, frozenset(self.labels.items())


Place = tuple[datetime, str]
"""A place in the queue; the smallest is served first."""


@dataclass(frozen=True)
class Waiting:
    """A target that only a limit keeps from remediation."""

    since: datetime
    """When it became unhealthy."""
    name: str
    """Orders targets that failed in the same second."""
    remediation: LimitedRemediation

    @property
    def place(self) -> Place:
        """Its place in the queue; the longest unhealthy target is first."""
        return self.since, self.name


@dataclass(frozen=True)
class UnderWay:
    """A remediation that has begun and is not over."""

    target: str
    remediation: LimitedRemediation
    since: datetime
    """The creation of its request or its deletion; for a mark, when the detector first saw it."""

    def __str__(self) -> str:
        return f"{self.target} of {self.remediation.check} since {stamp(self.since)}"


def limit_hold(words: str, ask_again_seconds: float) -> Hold:
    """The hold of an incident that would exceed a limit, or whose limits are unknown."""
    return Hold(reason=HoldReason.LIMIT, message=words, ask_again_seconds=max(1.0, ask_again_seconds))


Slot = tuple[CheckReference | None, str, str | None]
"""The check of the scope (None: all checks), a label, and a value of it (None: the value is unknown)."""


def slot_of_all(scope: LimitScope) -> Slot:
    return scope.check, "", ""


def slot_of_starts(scope: LimitScope) -> Slot:
    return scope.check, "", None


def slots_in_flight(scopes: Iterable[LimitScope], remediation: LimitedRemediation) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    for scope in scopes:
        slots.append(slot_of_all(scope))
        labels = scope.limits.max_in_flight_by_label
        slots += [(scope.check, label, remediation.labels.get(label)) for label in labels]
    return tuple(slots)


class AppliedLimit(NamedTuple):
    """One limit of a scope; the slots are those that count for it."""

    most: int
    scope: LimitScope
    slots: tuple[Slot, ...]
    label: str | None = None
    """The label whose values are limited; None: none."""
    value: str | None = None
    """The label's value of the remediation; None: unknown."""
    is_of_starts: bool = False

    @property
    def labelled(self) -> str:
        """The label and its value, such as "zone=a"; "zone=?" if the value is unknown."""
        return f"{self.label}={'?' if self.value is None else self.value}"


def applied_limits(scopes: Iterable[LimitScope], remediation: LimitedRemediation) -> Iterator[AppliedLimit]:
    for scope in scopes:
        limits = scope.limits
        if limits.max_in_flight is not None:
            yield AppliedLimit(limits.max_in_flight, scope, (slot_of_all(scope),))
        for label, most in limits.max_in_flight_by_label.items():
            value = remediation.labels.get(label)
            # The slots of its own value, and of targets whose value is unknown. For a target whose own value
            # is unknown all count, and each remediation has one value of each label.
            slots: tuple[Slot, ...] = (scope.check, label, value), (scope.check, label, None)
            if value is None:
                slots = (slot_of_all(scope),)
            yield AppliedLimit(most, scope, slots, label, value)
        if limits.max_starts_per_hour is not None:
            yield AppliedLimit(limits.max_starts_per_hour, scope, (slot_of_starts(scope),), is_of_starts=True)


@dataclass(frozen=True)
class StuckSlots:
    """The stuck slots of one limit, with the checks that wait for them."""

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


def stuck_slots(
    scopes_of: ScopesOf, under_way: Iterable[UnderWay], waiting: Iterable[Waiting], now: datetime
) -> tuple[StuckSlots, ...]:
    """The limits in flight that remediations have filled for too long while targets wait."""
    limits: dict[str, AppliedLimit] = {}
    checks: defaultdict[str, set[CheckReference]] = defaultdict(set)
    for remediation in {target.remediation.counts_as: target.remediation for target in waiting}.values():
        for limit in applied_limits(scopes_of(remediation.check), remediation):
            if limit.is_of_starts:  # starts leave the last hour by themselves
                continue
            field = f"maxInFlightByLabel {limit.labelled}: " if limit.label else "maxInFlight="
            words = f"{field}{limit.most} of {limit.scope.chosen_by}"
            limits[words] = limit
            checks[words].add(remediation.check)
    holders: defaultdict[Slot, list[UnderWay]] = defaultdict(list)
    for holder in under_way if limits else ():
        for slot in slots_in_flight(scopes_of(holder.remediation.check), holder.remediation):
            holders[slot].append(holder)
    stuck = []
    for words, limit in sorted(limits.items()):
        found = [holder for slot in limit.slots for holder in holders.get(slot, ())]
        old = [holder for holder in found if now - holder.since > STUCK_AFTER]
        if len(found) >= limit.most and old:
            oldest = tuple(sorted(old, key=lambda holder: (holder.since, holder.target)))
            stuck.append(StuckSlots(words, limit.scope.check, oldest, frozenset(checks[words])))
    return tuple(stuck)
