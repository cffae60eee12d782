"""Attempt: things that are done within the time of one attempt of an activity, each by itself.

One that fails keeps no other from being done, and is answered: whoever asked tries it again. So Temporal
repeats nothing but an attempt whose worker was lost. What is not done in three quarters of the attempt is
answered as such: an answer that came too late would be lost, and all be done again.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from temporalio import activity

from kube.errors import Forbidden, KubernetesError, retry_after
from objects.durations import in_words
from workflows.kit.calls import Contract

SHARE_OF_WORK = 0.75
"""Of an attempt; what is left is for its answer, on a machine however busy."""

Result = TypeVar("Result")


class Refusal(Exception):
    """The activity does not do what it is asked; the message says why, in words for people."""


@dataclass(frozen=True)
class Failure:
    """Why one thing was not done."""

    why: str
    error: KubernetesError | None = None
    """What the API server answered; None: it is not that."""

    @property
    def is_forbidden(self) -> bool:
        """Whether a right may be missing."""
        return isinstance(self.error, Forbidden)

    @property
    def wait_seconds(self) -> float:
        """How long the API server wants to be left alone."""
        return retry_after(self.error).total_seconds() if self.error else 0.0


class Attempt:
    """One attempt, which begins now."""

    def __init__(self, contract: Contract) -> None:
        self._longest = contract.attempt * SHARE_OF_WORK
        self._ends = asyncio.get_running_loop().time() + self._longest.total_seconds()

    async def tried(self, what: str, doing: Awaitable[Result]) -> Result | Failure:
        """What `doing` answers, or why it did not; `what` it does, for the log."""
        return await tried_until(self._ends, f"it was not done within {in_words(self._longest)}", what, doing)


async def tried_until(ends: float, too_late: str, what: str, doing: Awaitable[Result]) -> Result | Failure:
    """The same until the clock of the event loop says `ends`, after which it is `too_late`."""
    try:
        async with asyncio.timeout_at(ends):
            return await doing
    except KubernetesError as error:
        return Failure(error.message, error)
    except Refusal as error:
        activity.logger.warning("refused", extra={"what": what, "reason": str(error)})
        return Failure(str(error))
    except TimeoutError:
        return Failure(too_late)
    except Exception as error:  # noqa: BLE001  what one did not foresee must keep no other from being done
        activity.logger.warning("not done", exc_info=error, extra={"what": what})
        return Failure(f"{type(error).__name__}: {error}")
