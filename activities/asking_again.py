"""Asking again: what the API server sent away for a time is repeated by Temporal no earlier than told.

A wait that is told takes the place of the one that the contract's policy has. So about as much as the policy
would wait is added, drawn at random: a thousand incidents that were sent away at one moment do not come back
at one.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from kube.backoff import draw
from kube.errors import KubernetesError
from workflows.contracts import FIRST_RETRY, LONGEST_RETRY

Asked = ParamSpec("Asked")
Result = TypeVar("Result")


def no_earlier_than_told(run: Callable[Asked, Awaitable[Result]]) -> Callable[Asked, Awaitable[Result]]:
    """Let an activity say how long the API server wants to be left alone, if that is why it failed."""

    @wraps(run)
    async def telling(*args: Asked.args, **kwargs: Asked.kwargs) -> Result:
        try:
            return await run(*args, **kwargs)
        except KubernetesError as error:
            if error.retry_after is None:
                raise
            failures = activity.info().attempt - 1
            wait = error.retry_after + draw(FIRST_RETRY, LONGEST_RETRY, failures)
            kind = type(error).__name__
            raise ApplicationError(error.message, type=kind, next_retry_delay=wait) from error

    return telling
