"""NextMove: what an incident does next, as a pure function of what it sees and what it remembers.

This is the runbook. It is asked again after every move and every look, so it holds from any state: after a
restart, an edit of the check, a recovery in the middle, an abort. The first rule that fits wins:

1. A target that is healthy, gone or released: clean up what is left, then end.
2. Left alone by a person: clean up, then wait for recovery or `resume`.
3. A request exists: let the remediator work and keep the Lease, also while only a timer runs, and while
   the detector cannot tell.
4. Held by a person: hold, whatever the timer and the detector say.
5. The detector cannot tell: hold.
6. A timer runs: wait for the deadline.
7. Not admitted: hold. Else act.

Orders of people add up: each ends when its own time is over, and `resume` ends them all.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from health.durations import in_words
from health.frozen import Frozen
from health.observation import ENDED, Observation, TargetState
from health.references import RequestReference, Step

LONGEST_REST = timedelta(days=7)
"""A timer that is longer asks again in between: no clock is trusted with the centuries of a bad timestamp."""

CLASSIC_LEASE = timedelta(minutes=10)
"""How long a Lease is taken for where the step has no timeout (semantics 2.5)."""


def lease_duration(step: Step) -> timedelta:
    """How long the Lease of a target is taken for while `step` runs (semantics 2.5: D)."""
    return timedelta(seconds=step.timeout_seconds) if step.timeout_seconds else CLASSIC_LEASE


class Phase(StrEnum):
    """Where an incident is; shown by the query `state` and in the details of the workflow."""

    WAITING = "Waiting"
    HELD = "Held"
    ACTING = "Acting"
    REMEDIATING = "Remediating"
    CLEANING_UP = "CleaningUp"
    LEFT_ALONE = "LeftAlone"
    ENDED = "Ended"


class Outcome(StrEnum):
    """How an incident ended."""

    RECOVERED = "Recovered"
    """The target became healthy before anything was done, or while it was left alone."""
    REMEDIATED = "Remediated"
    RELEASED = "Released"
    GONE = "Gone"


class Memory(Frozen):
    """What an incident knows that the cluster does not show (yet)."""

    requests: tuple[RequestReference, ...] = ()
    """Requests that it made or adopted and has not seen removed."""
    has_acted: bool = False
    may_hold_lease: bool = False
    """True from the moment an act was ordered: what an act that broke off left behind is given back too."""
    lease_seconds: float = CLASSIC_LEASE.total_seconds()
    """How long the Lease of the target is taken for: as the step that runs says."""
    renew_at: datetime | None = None
    """When the Lease of the target is to be renewed next."""
    left_alone: bool = False
    left_alone_reason: str = ""
    left_alone_until: datetime | None = None
    held: bool = False
    """By a person: nothing new is done, what exists is kept."""
    held_reason: str = ""
    held_until: datetime | None = None

    @property
    def hold_in_words(self) -> str:
        """That and why a person holds it; "" where nobody does."""
        return f"held by a person: {self.held_reason}" if self.held else ""

    @property
    def owns_something(self) -> bool:
        """Whether something in the cluster must go before the incident may end."""
        return bool(self.requests) or self.may_hold_lease

    def at(self, now: datetime) -> Self:
        """The same at `now`: an order for a time ends when the time is over."""
        over: dict[str, object] = {}
        if self.left_alone_until is not None and now >= self.left_alone_until:
            over |= NOT_LEFT_ALONE
        if self.held_until is not None and now >= self.held_until:
            over |= NOT_HELD
        return self.model_copy(update=over) if over else self


NOT_LEFT_ALONE = MappingProxyType({"left_alone": False, "left_alone_reason": "", "left_alone_until": None})
NOT_HELD = MappingProxyType({"held": False, "held_reason": "", "held_until": None})
"""What a Memory knows once such an order has ended."""


@dataclass(frozen=True)
class Rest:
    """Do nothing until a look, an order or, where set, the time is over."""

    phase: Phase
    details: str
    seconds: float | None = None


@dataclass(frozen=True)
class Act:
    """Carry out a step."""

    step: int
    details: str


@dataclass(frozen=True)
class Renew:
    """Keep the Lease of the target while the remediator works."""

    details: str


@dataclass(frozen=True)
class CleanUp:
    """Delete the requests and give the Lease back."""

    details: str


@dataclass(frozen=True)
class End:
    """Nothing is left to do."""

    outcome: Outcome
    details: str


Move = Rest | Act | Renew | CleanUp | End

_PHASES: dict[type[Move], Phase] = {
    Act: Phase.ACTING,
    Renew: Phase.REMEDIATING,
    CleanUp: Phase.CLEANING_UP,
    End: Phase.ENDED,
}


def phase_of(move: Move) -> Phase:
    """The phase that an incident is in while it makes this move."""
    return move.phase if isinstance(move, Rest) else _PHASES[type(move)]


def next_move(seen: Observation, memory: Memory, now: datetime) -> Move:
    """The next move of an incident that sees `seen` and remembers `memory`."""
    if seen.state in ENDED:
        return _close(seen, memory)
    if memory.left_alone:
        return _leave_alone(seen, memory, now)
    if seen.requests:
        return _let_the_remediator_work(seen, memory, now)
    if memory.held:
        details = f"{seen.reason}; {memory.hold_in_words}"
        return Rest(Phase.HELD, details, _seconds_until(memory.held_until, now))
    if seen.state is TargetState.UNKNOWN:
        return _hold(seen)
    if seen.state is TargetState.WAITING:
        return Rest(Phase.WAITING, seen.reason, min(seen.remaining_seconds, LONGEST_REST.total_seconds()))
    if not seen.is_admitted:
        return _hold(seen)
    return Act(0, seen.reason)


def _close(seen: Observation, memory: Memory) -> Move:
    if memory.owns_something or seen.requests:
        return CleanUp(seen.reason)
    return End(_outcome(seen.state, memory), seen.reason)


def _outcome(state: TargetState, memory: Memory) -> Outcome:
    if state is TargetState.GONE:
        return Outcome.GONE
    if state is TargetState.RELEASED:
        return Outcome.RELEASED
    return Outcome.REMEDIATED if memory.has_acted and not memory.left_alone else Outcome.RECOVERED


def _leave_alone(seen: Observation, memory: Memory, now: datetime) -> Move:
    why = f"left alone: {memory.left_alone_reason}"
    if memory.owns_something or seen.requests:
        return CleanUp(why)
    return Rest(Phase.LEFT_ALONE, f"{seen.reason}; {why}", _seconds_until(memory.left_alone_until, now))


def _let_the_remediator_work(seen: Observation, memory: Memory, now: datetime) -> Move:
    details = f"{seen.reason}; {', '.join(map(_in_words, seen.requests))}"
    ask_again = LONGEST_REST.total_seconds()
    if seen.state is TargetState.UNKNOWN and seen.hold is not None:
        details, ask_again = f"{details}; {seen.hold}", seen.hold.ask_again_seconds
    if memory.held:
        details = f"{details}; {memory.hold_in_words}"
        ask_again = min(ask_again, _seconds_until(memory.held_until, now) or ask_again)
    # Of a request that was adopted nobody knows yet until when its Lease runs.
    if memory.renew_at is None or now >= memory.renew_at:
        return Renew(details)
    return Rest(Phase.REMEDIATING, details, min(ask_again, (memory.renew_at - now).total_seconds()))


def _in_words(request: RequestReference) -> str:
    if request.is_being_deleted:
        return f"{request} is being deleted, and a finalizer keeps it"
    return f"{request} exists"


def _hold(seen: Observation) -> Rest:
    if seen.hold is None:
        return Rest(Phase.HELD, seen.reason)
    again = in_words(timedelta(seconds=seen.hold.ask_again_seconds))
    return Rest(
        Phase.HELD, f"{seen.reason}; {seen.hold} (asks again in {again})", seen.hold.ask_again_seconds
    )


def _seconds_until(time: datetime | None, now: datetime) -> float | None:
    return None if time is None else max(0.0, (time - now).total_seconds())
