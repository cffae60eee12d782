"""Sightings: since when a condition has its present status, by what the detector itself saw (rule 56).

A transition time is written by the clock of a sick machine, or not at all, or again and again. So a failure
began at its transition time, but not before the last proven look that showed another status, and not after
the first look that showed this one. While the looks are unbroken, only another status restarts the timer: a
new transition time on the same status does not (rule 57). A first look has no look before it; then the
written time counts. An absent condition is no status: the last status before it counts, for an hour.

An object keeps a sighting only for a condition whose written time does not tell all, so a healthy object
costs nothing.

A time in which nothing was seen (`Gap`) restarts the timers of all durations that are shorter (rule 58).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self

from pydantic import GetPydanticSchema
from pydantic_core import core_schema

from health.model.owner_signs import Sign, SignSighting, signs_since
from health.model.owner_signs import sighted as signs_sighted
from health.model.target import TargetMetadata
from objects.frozen import Frozen, FrozenObject

RESOLUTION = timedelta(seconds=1)
"""Times of Kubernetes are cut to whole seconds."""
IN_A_ROW = timedelta(hours=1)
"""Changes of a status are counted as one row while each follows the one before within this time."""
MOST_GAPS = 8
MOST_VANISHED = 8


class TypedCondition(Protocol):
    """A condition of any object, with the fields that verdicts use."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def last_transition_time(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Look:
    """The moment at which a change of an object was seen, by the clock of the API server."""

    at: datetime
    since: datetime | None = None
    """The last proven look before it, which showed the object before the change; None: there was none."""
    is_unbroken: bool = True
    """True if the time since then is so short that no change was missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """The looks at one condition, where its own transition time does not tell all."""

    since: datetime
    """When it got its present status."""
    seen: datetime
    """The first look that showed this status."""
    is_first: bool = False
    """True if that was the first look at the object: the time before it is unknown."""
    rewritten: int = 0
    """How often its transition time was written anew without another status."""
    changes: int = 0
    """How often its status changed, in a row (`IN_A_ROW`)."""
    counted_from: datetime | None = None
    """From when its incident counted, with all restarts until `as_of`; None: no incident reported it."""
    as_of: datetime | None = None
    unmoved_at: datetime | None = None
    """The end of the last short loss of the connection over which the condition did not change at all."""
    vanished: "Vanished | None" = None
    """How the object last had this condition; None: it still has it."""


@dataclass(frozen=True, slots=True)
class Vanished:
    """A condition that was removed from its object."""

    condition: TypedCondition
    at: datetime
    """The first look without it."""


def sightings(
    before: Iterable[TypedCondition] | None,
    known: Mapping[str, Sighting] | None,
    after: Iterable[TypedCondition],
    look: Look,
) -> dict[str, Sighting]:
    """The sightings of an object after a change, by the type of the condition.

    `before` are its conditions at the last look, with the sightings `known` then; None: a first look.
    """
    known = known or {}
    earlier, now = ({condition.type: condition for condition in seen} for seen in (before or (), after))
    found = {}
    for type_, condition in now.items():
        was, last = earlier.get(type_), known.get(type_)
        if was is not None:
            sighting = _next(was, last, condition, look)
        elif last is not None and last.vanished is not None:
            sighting = _returned(last, last.vanished.condition, condition, look)
        else:
            written = condition.last_transition_time
            is_told = written is not None and written <= look.at
            sighting = None if is_told else Sighting(since=look.at, seen=look.at, is_first=True)
        if sighting is not None:
            found[type_] = sighting

    # The return of a condition that the object lost lately may be another failure.
    absent = {type_: last for type_, last in known.items() if type_ not in now and last.vanished is not None}
    for type_, was in earlier.items():
        if type_ not in now:
            since = was.last_transition_time or look.at
            last = known.get(type_) or Sighting(since=since, seen=since)
            absent[type_] = replace(last, vanished=Vanished(was, look.at))
    lately = [
        item for item in absent.items() if item[1].vanished and look.at - item[1].vanished.at <= IN_A_ROW
    ]
    return found | dict(lately[-MOST_VANISHED:])


def _next(
    was: TypedCondition, last: Sighting | None, condition: TypedCondition, look: Look
) -> Sighting | None:
    is_rewritten = condition.last_transition_time != was.last_transition_time
    if condition.status == was.status and not is_rewritten:
        return last
    if condition.status == was.status and look.is_unbroken:
        since = last.since if last is not None else was.last_transition_time or look.at
        last = last or Sighting(since=since, seen=since)
        return replace(last, rewritten=last.rewritten + 1)
    # After a break with a new time there may have been another status.
    return _changed(last, condition, look)


def _returned(last: Sighting, was: TypedCondition, condition: TypedCondition, look: Look) -> Sighting:
    """Some monitors remove a condition while all is well, so only an equal time says that nothing changed."""
    written = condition.last_transition_time
    if written is not None and (condition.status, written) == (was.status, was.last_transition_time):
        return replace(last, vanished=None)
    return _changed(last, condition, look)


def _changed(last: Sighting | None, condition: TypedCondition, look: Look) -> Sighting:
    in_a_row = last.changes if last is not None and look.at - last.seen <= IN_A_ROW else 0
    # The written time counts if it is between the look that showed another status and this one.
    written, since = condition.last_transition_time, look.at
    looks = (look.since, None if last is None else last.seen)
    other = max((moment for moment in looks if moment is not None), default=None)
    if written is not None and written <= look.at and (other is None or written + RESOLUTION > other):
        since = written
    return Sighting(since=since, seen=look.at, changes=in_a_row + 1)


OURS = GetPydanticSchema(lambda _source, _handler: core_schema.none_schema())
"""No object brings sightings with it: the detector alone adds them."""


class Sighted(Protocol):
    """An object whose conditions the detector looks at."""

    @property
    def metadata(self) -> TargetMetadata: ...
    @property
    def sightings(self) -> Mapping[str, Sighting] | None: ...
    @property
    def timed(self) -> Sequence[TypedCondition]: ...
    def seen_after(self, before: Any, look: Look) -> Self: ...  # noqa: ANN401  of its own type
    def sighting(self, type_: str) -> Sighting | None: ...
    def since(self, condition: TypedCondition) -> datetime: ...
    def with_sightings(self, found: Mapping[str, Sighting]) -> Self: ...
    def with_signs_since(self, earlier: Iterable[SignSighting]) -> Self: ...


class SightedObject(FrozenObject):
    """An object with conditions; the detector adds its sightings."""

    sightings: Annotated[Mapping[str, Sighting] | None, OURS] = None
    signs_seen: Annotated[tuple[SignSighting, ...] | None, OURS] = None
    """The sightings of its signs that an owner works on it; None: there never was one."""

    if TYPE_CHECKING:  # a field of each kind of object

        @property
        def metadata(self) -> TargetMetadata: ...

    @property
    def timed(self) -> Sequence[TypedCondition]:
        """Its conditions, or what else of it has a time by which verdicts count."""
        return ()

    @property
    def signs(self) -> Sequence[Sign]:
        return ()

    def seen_after(self, before: Self | None, look: Look) -> Self:
        """The same object with its sightings after the change from `before`, if that is the same object."""
        if before is None or before.metadata.uid != self.metadata.uid:
            before = None
        signs_seen = signs_sighted(None if before is None else before.signs_seen or (), self.signs, look.at)
        after = self.model_copy(update={"signs_seen": signs_seen}) if signs_seen else self
        if before is None:
            return after.with_sightings(sightings(None, None, self.timed, look))
        return after.with_sightings(sightings(before.timed, before.sightings, self.timed, look))

    def since(self, condition: TypedCondition) -> datetime:
        """Since when one of its conditions has its status; without any time, since the object exists."""
        sighting = self.sighting(condition.type)
        if sighting is not None:
            return sighting.since
        return condition.last_transition_time or self.metadata.creation_timestamp

    def sighting(self, type_: str) -> Sighting | None:
        """The sighting of the condition of this type; None: the written time tells all."""
        return None if self.sightings is None else self.sightings.get(type_)

    def with_sightings(self, found: Mapping[str, Sighting]) -> Self:
        return self.model_copy(update={"sightings": found}) if found or self.sightings else self

    def with_signs_since(self, earlier: Iterable[SignSighting]) -> Self:
        """The same object, on which each sign is seen since an earlier process saw it."""
        seen = self.signs_seen and signs_since(self.signs_seen, earlier)
        return self if seen == self.signs_seen else self.model_copy(update={"signs_seen": seen})


class Gap(Frozen):
    """A time in which nothing was seen."""

    since: datetime
    until: datetime

    @property
    def lasted(self) -> timedelta:
        return self.until - self.since


def with_gap(gaps: Iterable[Gap], gap: Gap) -> tuple[Gap, ...]:
    """The gaps that still count, with another one: a gap before a longer one restarts no further timer.

    Notes of an earlier process come later than the gap of this one, so the order of their ends counts.
    """
    kept: list[Gap] = []
    for one in sorted((*gaps, gap), key=lambda one: (one.until, one.lasted), reverse=True):
        if not kept or one.lasted > kept[-1].lasted:
            kept.append(one)
    newest, *longer = kept
    return (*reversed(longer[-(MOST_GAPS - 1) :]), newest)


class RestartCause(StrEnum):
    """Why a timer counts from a later time than the failure, in words."""

    UPGRADE = "when an upgrade had ended"
    CONNECTION = "when the connection to its cluster was back"
    OUTAGE = "when a suspected outage had ended"
    UNWATCHED = "when a detector looked again"
    OWNER = "when its owner had stopped working on it, or had taken too long"


@dataclass(frozen=True, slots=True)
class Restart:
    """A moment from which timers count anew."""

    at: datetime
    cause: RestartCause
    lasted: timedelta | None = None
    """It restarts the timers of shorter durations only; None: every timer."""

    @classmethod
    def after(cls, gap: Gap, cause: RestartCause) -> Self:
        return cls(gap.until, cause, gap.lasted)

    def restarts(self, duration: timedelta, sighting: Sighting | None) -> bool:
        """True if a timer of this duration counts anew."""
        if sighting is not None and sighting.as_of is not None and self.at <= sighting.as_of:
            return False
        if self.lasted is None:
            return True
        if self.cause is RestartCause.CONNECTION and sighting is not None and sighting.unmoved_at is not None:
            return self.lasted > duration and sighting.unmoved_at < self.at
        return self.lasted > duration
