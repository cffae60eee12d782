"""Moves: what an incident can do next; phases: where it is meanwhile; outcomes: how it ends."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from health.model.references import RequestReference
from objects.frozen import Frozen


class Phase(StrEnum):
    """Where an incident is; shown by the query `state` and in the details of the workflow."""

    WAITING = "Waiting"
    HELD = "Held"
    ACTING = "Acting"
    REMEDIATING = "Remediating"
    EXHAUSTED = "Exhausted"
    """No step is left to try: it waits for `resume`."""
    HEALTHY_DELAY = "HealthyDelay"
    """The target is healthy again, and its requests are kept for the check's healthyDelay."""
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


class RequestMark(Frozen):
    """Annotations to be written on one request; None takes one away."""

    request: RequestReference
    annotations: dict[str, str | None]

    @property
    def subject(self) -> str:
        """Tells it from the other marks of its request: one that fails puts off no other."""
        return subject_of_mark(self.request.uid, self.annotations)

    def __str__(self) -> str:
        return f"annotate {self.request} with {', '.join(self.annotations)}"


def subject_of_mark(uid: str, annotations: Iterable[str]) -> str:
    """What notes call the marking of this request with these annotations."""
    return f"{uid} {' '.join(sorted(annotations))}"


@dataclass(frozen=True)
class Wait:
    """Do nothing until a look, an order or, where set, the time is over."""

    phase: Phase
    details: str
    seconds: float | None = None


@dataclass(frozen=True)
class TakeStep:
    """Carry out a step."""

    step: int
    details: str


@dataclass(frozen=True)
class MarkRequests:
    """Write annotations on requests."""

    marks: tuple[RequestMark, ...]
    phase: Phase
    details: str


@dataclass(frozen=True)
class RenewLease:
    """Keep the Lease of the target while the remediator works."""

    phase: Phase
    details: str


@dataclass(frozen=True)
class GiveBack:
    """Give the Lease of the target back, and keep the requests."""

    phase: Phase
    details: str


@dataclass(frozen=True)
class RemoveRequests:
    """Delete the requests and give the Lease back."""

    details: str


@dataclass(frozen=True)
class End:
    """Nothing is left to do."""

    outcome: Outcome
    details: str


Move = Wait | TakeStep | MarkRequests | RenewLease | GiveBack | RemoveRequests | End


def phase_of(move: Move) -> Phase:
    """The phase that an incident is in while it makes this move."""
    match move:
        case TakeStep():
            return Phase.ACTING
        case RemoveRequests():
            return Phase.CLEANING_UP
        case End():
            return Phase.ENDED
        case _:
            return move.phase
