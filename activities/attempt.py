"""Attempt: one attempt of an activity, and what it answers with: a StepResult, a StepHeld, failures of parts.

All are returned to the incident, which decides when to try again. So Temporal only retries an attempt whose
worker was lost.

Maintenance runs its parts separately: a failed part stops no other. Parts that are not done within three
quarters of the attempt are returned as failures, because a late answer would be lost and all parts repeated.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Self, TypeVar

from temporalio import activity

from health.model.observation import Hold, HoldReason, failed
from health.runbook.failures import AT_ONCE
from kube.errors import Forbidden, KindUnknown, KubernetesError, NotFound, RequestRefused, retry_after
from objects.durations import in_words
from objects.event import Event
from objects.field_problem import unforeseen
from workflows.contracts import ActResult
from workflows.kit.calls import Contract

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
    def by(cls, error: KubernetesError, event: Event | None = None) -> Self:
        return cls(hold_of(error), event, is_forbidden=isinstance(error, Forbidden))


def not_created(error: KubernetesError) -> StepHeld:
    """The error after a refused creation of a request.

    Raises KubernetesError: the API server did not answer, so the request may exist.
    """
    if error.status is None and not isinstance(error, KindUnknown):
        raise error
    hold = hold_of(error).of_request(error.message)
    return StepHeld(hold, is_forbidden=isinstance(error, Forbidden))


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
