"""LimitUsage: how much of the limits is used, counted up and down as remediations begin and end. Pure.

The usage remembers its counts for each target. A change of one target subtracts them and counts the target
again, so the cost of a change does not depend on the number of remediations. The numbers always equal those
of a new usage from the same records.

A Selection has the waiting targets whose remediation may begin next. A selected target stays so until it
begins, leaves, or the next selection is made. Any other target may begin only where the selected targets
before it leave room.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from operator import attrgetter
from typing import NamedTuple

from health.model.observation import Hold
from health.model.references import CheckReference
from health.policy.limits import (
    HOUR,
    AppliedLimit,
    LimitedRemediation,
    LimitScope,
    Place,
    ScopesOf,
    Slot,
    UnderWay,
    Waiting,
    applied_limits,
    limit_hold,
    slot_of_starts,
    slots_in_flight,
)
from objects.timestamps import stamp


class Selection:
    """The selected targets by name, in the order of their places."""

    def __init__(self) -> None:
        self._selected: dict[str, tuple[Place, tuple[Slot, ...]]] = {}
        self._places: defaultdict[Slot, list[Place]] = defaultdict(list)
        """The places of selected targets by slot, in order."""
        self._waited_for: set[Slot] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._selected)

    def __len__(self) -> int:
        return len(self._selected)

    def __contains__(self, name: str) -> bool:
        return name in self._selected

    def add_last(self, waiting: Waiting, slots: tuple[Slot, ...]) -> None:
        """Select a target that is to use these slots; its place is after those of all selected targets."""
        self._selected[waiting.name] = waiting.place, slots
        for slot in slots:
            self._places[slot].append(waiting.place)

    def remove(self, name: str) -> tuple[Slot, ...]:
        """Remove a target that begins or leaves; returns its slots, none if it was not selected."""
        if name not in self._selected:
            return ()
        place, slots = self._selected.pop(name)
        for slot in slots:
            places = self._places[slot]
            del places[bisect_left(places, place)]
        return slots

    def count(self, slot: Slot) -> int:
        return len(self._places.get(slot, ()))

    def count_before(self, place: Place, slots: Iterable[Slot]) -> int:
        """How many come before a place, of those that are to use these slots."""
        return sum(bisect_left(self._places.get(slot, ()), place) for slot in slots)

    def wait_for(self, slots: Iterable[Slot]) -> None:
        self._waited_for.update(slots)

    def is_waited_for(self, slots: Iterable[Slot]) -> bool:
        """True if freeing these slots may allow selecting another target."""
        return not self._waited_for.isdisjoint(slots)


_ASK_AGAIN_SECONDS = 30 * 60.0
"""A fallback: the detector wakes a waiting incident when its turn comes."""
_NONE_SELECTED = Selection()
_MOST_APPLIED = 10_000
"""How many combinations of labels are remembered; their values are chosen by others."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """The use of the limits by one target of a check."""

    check: CheckReference
    target: str
    in_flight: UnderWay | None = None
    """Its remediation, if one is in progress or reserved."""
    is_reserved: bool = False
    """Whether the remediation may begin at any moment, and so counts as a start now."""
    starts: tuple[datetime, ...] = ()
    """When its remediations began."""


class _Begun(NamedTuple):
    """A remediation that is in progress or has begun, in the order of its begin."""

    at: datetime
    name: str
    """Its target and check."""


_TIME = attrgetter("at")
_BySlot = defaultdict[Slot, list[_Begun]]
"""The remediations that use each slot, the oldest first; a slot without any has no entry."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counts of one target, to subtract them later."""

    in_flight: tuple[_Begun, ...] = ()
    """At most one."""
    slots: tuple[Slot, ...] = ()
    starts: tuple[_Begun, ...] = ()
    start_slots: tuple[Slot, ...] = ()
    """The slots that `starts` count for."""


_NOTHING = _Counted()


class SlotChange(NamedTuple):
    """The slots that a change of one target freed, and those that it took."""

    by: LimitedRemediation | None
    """The remediation of the target that is in flight now."""
    freed: frozenset[Slot] = frozenset()
    taken: frozenset[Slot] = frozenset()


class LimitRefusal(NamedTuple):
    """Why a remediation may not begin now."""

    hold: Hold
    slots: tuple[Slot, ...]
    """While all of these stay used, the remediation is refused."""


@dataclass(slots=True)
class _Counts:
    """How remediations that count alike count while a selection is made."""

    free: tuple[tuple[tuple[Slot, ...], int], ...]
    """The slots of each limit, with how many targets may be selected for them."""
    uses: tuple[Slot, ...]
    """The slots that a selected target is to use."""
    is_refused: bool = False

    def full(self, selection: Selection) -> tuple[Slot, ...] | None:
        """The slots of the first limit that allows no further target; None: all limits allow it."""
        for slots, free in self.free:
            if sum(map(selection.count, slots)) >= free:
                return slots
        return None


class _Applied(NamedTuple):
    """The limits that apply to remediations of one check with the same labels."""

    scopes: Iterable[LimitScope]
    limits: tuple[AppliedLimit, ...]
    slots: tuple[Slot, ...]
    """The slots that a remediation uses while it is in flight."""


@dataclass(kw_only=True)
class LimitUsage:
    """The remediations that count, by the limits that count them; two are equal if their numbers are."""

    scopes_of: ScopesOf = field(compare=False)
    _counted: dict[Hashable, _Counted] = field(default_factory=dict, compare=False)
    _used: _BySlot = field(default_factory=lambda: defaultdict(list))
    """Remediations in flight, and reserved starts."""
    _starts: _BySlot = field(default_factory=lambda: defaultdict(list))
    _applied: dict[Hashable, _Applied] = field(default_factory=dict, compare=False)

    def put(self, target: Hashable, use: Use) -> SlotChange:
        """Count a target as it is now, and drop its earlier counts."""
        before, after = self._counted.pop(target, _NOTHING), _NOTHING
        by = use.in_flight.remediation if use.in_flight else None
        if use.in_flight is not None or use.starts:
            start_slots = self._start_slots(use.check)
            slots = self._applied_to(by).slots if by else ()
            name = f"{use.target} of {use.check}"
            after = self._counted[target] = _Counted(
                in_flight=(_Begun(use.in_flight.since, name),) if use.in_flight else (),
                slots=slots + start_slots if use.is_reserved else slots,
                starts=tuple(_Begun(began, name) for began in use.starts) if start_slots else (),
                start_slots=start_slots if use.starts else (),
            )
        if after == before:
            return SlotChange(by)
        for slot, begun in product(before.slots, before.in_flight):
            _remove(self._used, slot, begun)
        for slot, begun in product(after.slots, after.in_flight):
            insort(self._used[slot], begun)
        for slot, begun in product(before.start_slots, before.starts):
            _remove(self._starts, slot, begun)
        for slot, begun in product(after.start_slots, after.starts):
            insort(self._starts[slot], begun)
        was, now = set(before.slots), set(after.slots)
        # A reserved start that is now seen frees nothing.
        if len(after.starts) > len(before.starts):
            now.update(after.start_slots)
        elif len(after.starts) < len(before.starts):
            was.update(before.start_slots)
        return SlotChange(by, freed=frozenset(was - now), taken=frozenset(now - was))

    def _applied_to(self, remediation: LimitedRemediation) -> _Applied:
        """The limits of a remediation, as they are remembered while its scopes are the same."""
        scopes = self.scopes_of(remediation.check)
        alike = remediation.check, *remediation.labels.items()
        applied = self._applied.get(alike)
        if applied is None or applied.scopes is not scopes:
            if len(self._applied) >= _MOST_APPLIED:
                self._applied.clear()
            limits, slots = tuple(applied_limits(scopes, remediation)), slots_in_flight(scopes, remediation)
            applied = self._applied[alike] = _Applied(scopes, limits, slots)
        return applied

    def _start_slots(self, check: CheckReference) -> tuple[Slot, ...]:
        return tuple(
            slot_of_starts(scope) for scope in self.scopes_of(check) if scope.limits.max_starts_per_hour
        )

    def select(self, waiting: Iterable[Waiting], now: datetime) -> Selection:
        """Select the waiting targets that may begin now; the longest wait goes first.

        A refused target does not block targets that other limits still allow, for example in another zone.
        """
        selection = Selection()
        counts: dict[Hashable, _Counts] = {}
        for target in sorted(waiting, key=lambda target: target.place):
            alike = target.remediation.counts_as
            count = counts.get(alike) or counts.setdefault(alike, self._counts(target.remediation, now))
            if count.is_refused:  # no slot was freed since
                continue
            full = count.full(selection)
            if full is None:
                selection.add_last(target, count.uses)
            else:
                count.is_refused = True
                selection.wait_for(full)
        return selection

    def _counts(self, remediation: LimitedRemediation, now: datetime) -> _Counts:
        applied = self._applied_to(remediation)
        return _Counts(
            free=tuple((limit.slots, limit.most - self._number(limit, now)) for limit in applied.limits),
            uses=applied.slots + self._start_slots(remediation.check),
        )

    def has_room_for(self, selection: Selection, beside: LimitedRemediation, now: datetime) -> bool:
        """True if all selected targets may begin beside a remediation that has taken its slots."""
        return not selection or all(
            self._number(limit, now) + sum(map(selection.count, limit.slots)) <= limit.most
            for limit in self._applied_to(beside).limits
        )

    def refusal(
        self,
        wanted: Waiting,
        now: datetime,
        selection: Selection = _NONE_SELECTED,
        besides: Hashable | None = None,
    ) -> LimitRefusal | None:
        """Why a remediation may not begin now, if the selected targets before it begin first.

        `besides` is a target that does not count: a remediation does not wait for its own reservation.
        """
        own = _NOTHING if besides is None else self._counted.get(besides, _NOTHING)
        are_selected = bool(selection)
        for limit in self._applied_to(wanted.remediation).limits:
            number = self._number(limit, now, own)
            first = selection.count_before(wanted.place, limit.slots) if are_selected else 0
            if number + first >= limit.most:
                return LimitRefusal(self._hold(limit, number, first, now, own), limit.slots)
        return None

    def _number(self, limit: AppliedLimit, now: datetime, own: _Counted = _NOTHING) -> int:
        number = sum(len(self._used.get(slot, ())) for slot in limit.slots)
        if own.slots:
            number -= sum(map(own.slots.count, limit.slots))
        return number + len(self._recent_starts(limit, now)) if limit.is_of_starts else number

    def _recent_starts(self, limit: AppliedLimit, now: datetime) -> Sequence[_Begun]:
        starts = self._starts.get(limit.slots[0], [])
        return starts[bisect_right(starts, now - HOUR, key=_TIME) :]

    def _hold(self, limit: AppliedLimit, number: int, first: int, now: datetime, own: _Counted) -> Hold:
        remediations = f"{number} remediation{'' if number == 1 else 's'}"
        most = f"at most {limit.most} allowed by {limit.scope.chosen_by}"
        if first:
            waits = "waits for longer comes" if first == 1 else "wait for longer come"
            most = f"{first} that {waits} first, {most}"
        if limit.is_of_starts:
            starts = self._recent_starts(limit, now)
            # The next one may begin once enough of the starts of the last hour are an hour old.
            frees = number + first - limit.most
            again = (starts[frees].at + HOUR - now if frees < len(starts) else HOUR).total_seconds()
            words = f"{remediations} began within the last hour, {most}"
            return limit_hold(words + _oldest(starts), again)
        eldest = (
            begun for slot in limit.slots for begun in self._used.get(slot, ())[: 1 + len(own.in_flight)]
        )
        using = sorted(begun for begun in eldest if begun not in own.in_flight)
        where = f" with {limit.labelled}" if limit.label else ""
        words = f"{remediations} {'is' if number == 1 else 'are'} under way{where}, {most}"
        return limit_hold(words + _oldest(using), _ASK_AGAIN_SECONDS)


def _remove(by_slot: _BySlot, slot: Slot, begun: _Begun) -> None:
    using = by_slot[slot]
    del using[bisect_left(using, begun)]
    if not using:
        del by_slot[slot]  # else every value that a label ever had would stay


def _oldest(begun: Sequence[_Begun]) -> str:
    """The oldest remediation that is waited for, at the end of a sentence."""
    return f"; the oldest, of {begun[0].name}, began at {stamp(begun[0].at)}" if begun else ""
