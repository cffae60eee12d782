"""How a process of ours runs: settings from the environment, logs, and a clean end on SIGTERM and SIGINT."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from runtime.logs import set_up_logs
from runtime.settings import Settings, SettingsError

BAD_SETTINGS = 2
"""Exit code where the environment says something that cannot be used."""


def run_process(main: Callable[[Settings], Awaitable[None]]) -> int:
    """Run `main` until a signal ends it; answers the exit code."""
    set_up_logs()
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return BAD_SETTINGS
    asyncio.run(_until_signal(main(settings)))
    return 0


async def _until_signal(main: Awaitable[None]) -> None:
    task = asyncio.ensure_future(main)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
