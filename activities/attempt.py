"""Attempt: runs the parts of one activity attempt within its time, each part separately.

A failed part stops no other part and is returned to the caller, which tries it again. So Temporal only
retries an attempt whose worker was lost. Parts that are not done within three quarters of the attempt are
returned as failures, because a late answer would be lost and all parts repeated.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from temporalio import activity

from kube.errors import KubernetesError, RequestRefused, retry_after
from objects.durations import in_words
from objects.field_problem import unforeseen
from workflows.kit.calls import Contract

SHARE_OF_WORK = 0.75
"""The share of the attempt for the work; the rest is for the answer, even on a busy machine."""

Result = TypeVar("Result")


class InputRefused(Exception):
    """The activity refuses its input; the message says why, for people."""


@dataclass(frozen=True)
class AttemptFailure:
    """The reason why one part was not done."""

    why: str
    error: KubernetesError | None = None
    """The API server's error; None: another reason."""

    @property
    def is_refused(self) -> bool:
        """True if the cluster refuses it, which people have to end."""
        return isinstance(self.error, RequestRefused)

    @property
    def wait_seconds(self) -> float:
        """Seconds that the API server asked to wait."""
        return retry_after(self.error).total_seconds() if self.error else 0.0


class Attempt:
    """One attempt of an activity, which begins now."""

    def __init__(self, contract: Contract) -> None:
        self._longest = contract.attempt * SHARE_OF_WORK
        self._ends = asyncio.get_running_loop().time() + self._longest.total_seconds()

    async def tried(self, action: str, doing: Awaitable[Result]) -> Result | AttemptFailure:
        """The result of `doing`, or its failure; `action` is for the log."""
        return await tried_until(
            self._ends, f"it was not done within {in_words(self._longest)}", action, doing
        )


async def tried_until(
    ends: float, too_late: str, action: str, doing: Awaitable[Result]
) -> Result | AttemptFailure:
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
