"""How a process of ours runs: settings, logs, and a clean end on SIGTERM and SIGINT.

Settings are of the environment; the one option of the command line is written into it, so that it does
exactly what its variable does.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import NoReturn

import uvloop

from runtime.leaving import leave
from runtime.logs import set_log_level, set_up_logs
from runtime.serving import CannotListen
from runtime.settings import CHECK_KINDS_VARIABLE, Settings, SettingsError

FAILED = 1
"""Exit code where the machine refuses what the settings ask for."""
BAD_SETTINGS = 2
"""Exit code where the command line or the environment says something that cannot be used."""


class _Options(argparse.ArgumentParser):
    """Refuses in one sentence, as settings are refused."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{self.prog}: {message} (see --help)")


def run_process(main: Callable[[Settings], Awaitable[None]]) -> NoReturn:
    """Run `main` until a signal ends it, then end the process; what `main` raises is raised."""
    set_up_logs()
    leave(_run(main, f"paramedic-{main.__module__.partition('.')[0]}"))


def _run(main: Callable[[Settings], Awaitable[None]], program: str) -> int:
    try:
        settings = Settings.from_environment(os.environ | _options(program))
        set_log_level(settings.log_level)
        uvloop.run(_until_signal(main(settings)))
    except SettingsError as error:
        return _refuse(error, BAD_SETTINGS)
    except CannotListen as error:
        return _refuse(error, FAILED)
    return 0


def _options(program: str) -> dict[str, str]:
    """The variables that the command line sets; `--help` ends the process."""
    parser = _Options(
        prog=program,
        description="All other settings are variables, see docs/running.md.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--check-kinds",
        metavar="NAMES",
        help=f"The kinds of health check that are handled, with commas; stands above {CHECK_KINDS_VARIABLE}.",
    )
    named: str | None = parser.parse_args().check_kinds
    return {} if named is None else {CHECK_KINDS_VARIABLE: named}


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
