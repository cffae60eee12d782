"""Requests to servers that may be away: made again, ever more slowly, until they succeed."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

LOG = logging.getLogger(__name__)
FIRST_DELAY = timedelta(seconds=0.2)
LONGEST_DELAY = timedelta(seconds=7)
"""What a kubelet waits at most between two attempts to renew its Lease."""

T = TypeVar("T")


async def insist(
    who: str,
    work: Callable[[], Awaitable[T]],
    *passing: type[Exception],
    longest: timedelta = LONGEST_DELAY,
) -> T:
    """Return what `work` returns once it raises none of the `passing` errors any more.

    Only the first failure of a row is logged as a warning: a thousand kubelets may fail at once.
    """
    delay, level = FIRST_DELAY, logging.WARNING
    while True:
        try:
            return await work()
        except passing as error:
            LOG.log(level, "%s: tries again until it succeeds: %s", who, error)
        await asyncio.sleep(delay.total_seconds() * random.uniform(0.8, 1.2))  # noqa: S311  spreads load
        delay, level = min(2 * delay, longest), logging.DEBUG
