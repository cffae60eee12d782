"""ChoreAttempt: each item of a chore by itself, within the time of one attempt, and what failed as a value.

An item that fails keeps no other from being done, and is answered to the incident, which tries it again. So
Temporal repeats nothing but an attempt whose worker was lost.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from temporalio import activity

from health.runbook.chores import ChoreFailure
from kube.errors import Forbidden, KubernetesError, told_wait
from objects.durations import in_words
from workflows.kit.calls import Contract

Result = TypeVar("Result")


class ChoreAttempt:
    """The items of one attempt, and those that failed so far."""

    def __init__(self, contract: Contract) -> None:
        self._longest = contract.attempt
        self._ends = asyncio.get_running_loop().time() + self._longest.total_seconds()
        self._failures: list[ChoreFailure] = []

    @property
    def failures(self) -> tuple[ChoreFailure, ...]:
        """What could not be done."""
        return tuple(self._failures)

    async def item(self, subject: str, what: str, doing: Awaitable[Result]) -> Result | None:
        """What `doing` answers; None: it failed, which is noted as `what` of `subject`."""
        try:
            async with asyncio.timeout_at(self._ends):
                return await doing
        except KubernetesError as error:
            wait, is_forbidden = told_wait(error).total_seconds(), isinstance(error, Forbidden)
            failure = ChoreFailure(
                subject=subject, what=what, why=error.message, is_forbidden=is_forbidden, wait_seconds=wait
            )
        except TimeoutError:
            why = f"it was not done within {in_words(self._longest)}"
            failure = ChoreFailure(subject=subject, what=what, why=why)
        except Exception as error:  # noqa: BLE001  what one item did not foresee must keep no other from being done
            activity.logger.warning("chore failed", exc_info=error, extra={"chore": what})
            why = f"{type(error).__name__}: {error}"
            failure = ChoreFailure(subject=subject, what=what, why=why)
        self._failures.append(failure)
        return None
