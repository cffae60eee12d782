"""Attempt: one attempt of an activity, its clocks, and its answers: a StepResult, a StepHeld, failed parts.

All are returned to the incident, which decides when to try again. So Temporal only retries an attempt whose
worker was lost.

A process may be frozen, and a machine suspended, at any moment. So the age of the facts behind a write is
measured by two clocks: by the API server's clock since the detector saw the facts, and by a clock that cannot
be set since the activity began. Temporal's clock measures the time before that, in the task queue.

Maintenance runs its parts separately: a failed part stops no other. Parts that are not done within three
quarters of the attempt are returned as failures, because a late answer would be lost and all parts repeated.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self, TypeVar

from temporalio import activity

from health.model.observation import Hold, HoldReason, failed
from health.runbook.failures import AT_ONCE
from kube.errors import Forbidden, KubernetesError, NotFound, RequestRefused, retry_after
from objects.durations import in_words
from objects.event import Event
from objects.field_problem import unforeseen
from workflows.contracts import ACT, CLOCK_TOLERANCE, FRESH, ActResult
from workflows.kit import Contract

HEARTBEAT_EVERY = timedelta(seconds=2)
ASK_AGAIN_SECONDS = 60.0
"""The requeue time of the NodeHealthCheck operator for states that people or other controllers must end."""

SHARE_OF_WORK = 0.75
"""The share of the attempt for the work; the rest is for the answer, even on a busy machine."""

T = TypeVar("T")


class InputRefused(Exception):
    """The activity refuses its input; the message says why, for people."""


@dataclass(frozen=True)
class AttemptFailure:
    """The reason why one part was not done."""

    why: str
    error: KubernetesError | None = None
    """The API server's error; None: another reason."""


class Attempt:
    """One attempt of an activity, which begins now."""

    def __init__(self, contract: Contract) -> None:
        self._longest = contract.attempt * SHARE_OF_WORK
        self._ends = asyncio.get_running_loop().time() + self._longest.total_seconds()

    async def tried(self, action: str, doing: Awaitable[T]) -> T | AttemptFailure:
        """The result of `doing`, or its failure; `action` is for the log."""
        return await tried_until(
            self._ends, f"it was not done within {in_words(self._longest)}", action, doing
        )


async def tried_until(ends: float, too_late: str, action: str, doing: Awaitable[T]) -> T | AttemptFailure:
    """The same until the event loop's clock reaches `ends`; `too_late` is the reason after that."""
    try:
        async with asyncio.timeout_at(ends):
            return await doing
    except KubernetesError as error:
        return AttemptFailure(error.message, error)
    except InputRefused as error:
        activity.logger.warning("refused", extra={"what": action, "reason": str(error)})
        return AttemptFailure(str(error))
    except TimeoutError:
        return AttemptFailure(too_late)
    except Exception as error:  # noqa: BLE001  an unforeseen error must not stop the other parts
        activity.logger.warning("not done", exc_info=error, extra={"what": action})
        return AttemptFailure(unforeseen(error))


@dataclass(frozen=True)
class StepResult:
    """The answer of a step to the incident, with an Event about the target."""

    result: ActResult
    event: Event | None = None


class StepHeld(Exception):
    """Nothing was done; carries the hold that the activity answers with."""

    def __init__(self, hold: Hold, event: Event | None = None, *, is_forbidden: bool = False) -> None:
        self.hold = hold
        self.event = event
        self.is_forbidden = is_forbidden
        """True if the API server answered 403."""
        super().__init__(str(hold))

    @classmethod
    def because(
        cls, reason: HoldReason, message: str, *, ask_again_seconds: float = ASK_AGAIN_SECONDS
    ) -> Self:
        return cls(Hold(reason=reason, message=message, ask_again_seconds=ask_again_seconds))

    @classmethod
    def by_hold(cls, hold: Hold, ask_again_seconds: float) -> Self:
        """The hold of a rule, which an act asks about again after this time."""
        return cls(Hold(reason=hold.reason, message=hold.message, ask_again_seconds=ask_again_seconds))

    @classmethod
    def by(cls, error: KubernetesError, event: Event | None = None) -> Self:
        return cls(hold_of(error), event, is_forbidden=isinstance(error, Forbidden))


def hold_of(error: KubernetesError) -> Hold:
    """The hold for an error of the API server: a refusal, or an attempt that broke off."""
    if isinstance(error, Forbidden):  # kube-apiserver also answers so right after its start
        again = AT_ONCE.total_seconds()
        return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=again)
    if isinstance(error, (RequestRefused, NotFound)):
        return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=ASK_AGAIN_SECONDS)
    return failed(error.message, retry_after(error))


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Send heartbeats for the time of the block, so that Temporal notices a killed worker."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT_EVERY.total_seconds())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()


@dataclass(frozen=True)
class Clock:
    """The clocks of an activity that writes."""

    now: Callable[[], datetime]
    """The current time by the API server's clock, from its latest answer."""
    monotonic: Callable[[], float]
    """Seconds of a clock that cannot be set and that includes the time of a suspended machine."""

    def since(self, began: float) -> timedelta:
        """The time since `began`, by the monotonic clock."""
        return timedelta(seconds=self.monotonic() - began)

    def too_old(self, seen_at: datetime | None, began: float) -> str | None:
        """Why facts of `seen_at`, revalidated since `began`, are too old now; None if they are not."""
        if self.since(began) > FRESH:
            return "the revalidation took too long to act on it"
        if seen_at is None:
            return "the order does not say when it was admitted"
        age = self.now() - seen_at
        if age > FRESH + CLOCK_TOLERANCE:
            return f"this was admitted {in_words(age)} ago"
        if age < -CLOCK_TOLERANCE:
            return f"this was admitted {in_words(-age)} ahead of the clock of this worker"
        return None


@dataclass(frozen=True)
class FactAge:
    """The age of the facts of one act, since they were seen and since their revalidation began."""

    clock: Clock
    seen_at: datetime | None
    began: float

    @classmethod
    def from_now(cls, clock: Clock, seen_at: datetime | None) -> Self:
        """The age of facts whose revalidation begins now."""
        return cls(clock, seen_at, clock.monotonic())

    def refuse_old(self) -> None:
        """Refuse by two clocks, as a process may be frozen, and a machine suspended, at any moment before.

        Raises StepHeld.
        """
        if why := self.clock.too_old(self.seen_at, self.began):
            raise stale(why)

    @property
    def may_be_timed_out(self) -> bool:
        """True if Temporal may have timed the act out, by either clock since its admission."""
        is_late = self.seen_at is not None and self.clock.now() - self.seen_at > ACT.attempt
        return is_late or self.clock.since(self.began) > ACT.attempt


def waited_too_long() -> str | None:
    """Why the task waited too long in the queue, by Temporal's clock; None if it did not."""
    info = activity.info()
    waited = info.started_time - info.scheduled_time
    return f"the order waited {in_words(waited)} for a worker" if waited > FRESH else None


def stale(message: str) -> StepHeld:
    """The error for facts that are too old."""
    return StepHeld.because(HoldReason.STALE_FACTS, f"{message}: asking again", ask_again_seconds=0)
