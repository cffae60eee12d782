"""Runs a coroutine until SIGTERM or SIGINT."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def run_until_terminated(work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, cancelled on the first SIGTERM or SIGINT; its own errors are raised.

    Must run on the main thread.
    """
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
