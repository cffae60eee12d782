"""Retries with back-off, and reports the reason once per transition.

A Retry-After of a server is respected.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kube.errors import retry_after
from runtime.problems import Problems
from runtime.temporal_trouble import SILENCE, is_silence

_log = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 10.0


async def retry_forever(
    part: str,
    attempt: Callable[[], Awaitable[Result]],
    errors: tuple[type[Exception], ...],
    problems: Problems,
    longest_seconds: float = LONGEST_SECONDS,
) -> Result:
    """The result of `attempt`, retried without a limit after `errors`, which may be temporary."""
    wait = FIRST_SECONDS
    while True:
        try:
            result = await attempt()
        except errors as error:
            problems.report(part, one_sentence(error))
            _log.debug("attempt failed", exc_info=error, extra={"part": part})
            spread = wait * random.uniform(0.5, 1.0)  # noqa: S311  spreads retries, hides no secret
            await asyncio.sleep(retry_after(error).total_seconds() + spread)
            wait = min(wait * 2, longest_seconds)
        else:
            problems.report(part, "")
            return result


def one_sentence(error: BaseException) -> str:
    """The message of an error on one line, or its type."""
    if is_silence(error):
        return SILENCE
    return " ".join(str(error).split()) or type(error).__name__
