"""How a process of ours runs: settings from the environment, logs, and a clean end on SIGTERM and SIGINT."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import NoReturn

from runtime.leaving import leave
from runtime.logs import set_log_level, set_up_logs
from runtime.serving import CannotListen
from runtime.settings import Settings, SettingsError

FAILED = 1
"""Exit code where the machine refuses what the settings ask for."""
BAD_SETTINGS = 2
"""Exit code where the environment says something that cannot be used."""


def run_process(main: Callable[[Settings], Awaitable[None]]) -> NoReturn:
    """Run `main` until a signal ends it, then end the process; what `main` raises is raised."""
    set_up_logs()
    leave(_run(main))


def _run(main: Callable[[Settings], Awaitable[None]]) -> int:
    try:
        settings = Settings.from_environment(os.environ)
        set_log_level(settings.log_level)
        asyncio.run(_until_signal(main(settings)))
    except SettingsError as error:
        return _refuse(error, BAD_SETTINGS)
    except CannotListen as error:
        return _refuse(error, FAILED)
    return 0


def _refuse(error: Exception, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code


async def _until_signal(main: Awaitable[None]) -> None:
    task = asyncio.ensure_future(main)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
