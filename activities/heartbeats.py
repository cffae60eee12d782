"""Heartbeats of an activity, so that Temporal notices a killed worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity

EVERY = timedelta(seconds=2)


@asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Heartbeats for the time of the block."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(EVERY.total_seconds())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
