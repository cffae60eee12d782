"""Runs one of our processes: settings, logs, and a clean end on SIGTERM and SIGINT.

Settings come from the environment; the only command line option is written into it, so that it has the same
effect as its variable. `runtime.log_lines` formats the log.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import uvloop
from temporalio import activity, workflow

from runtime.exit import leave
from runtime.full_collections import keep_full_collections_short
from runtime.log_lines import JsonFormatter
from runtime.serving import CannotListen
from runtime.settings import CHECK_KINDS_VARIABLE, Settings, SettingsError

FAILED = 1
"""Exit code where the machine refuses what the settings ask for."""
BAD_SETTINGS = 2
"""Exit code where the command line or the environment says something that cannot be used."""
_CLOSED = "; the handler is closed"
"""The end of uvloop's error of a write to a connection that is closed; the error has no type of its own."""
_OURS = ("activities", "detector", "kube", "runtime", "worker")
"""What logs from the level on that a setting says."""


class _Options(argparse.ArgumentParser):
    """Refuses arguments with one sentence, like settings."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{self.prog}: {message} (see --help)")


def run_process(main: Callable[[Settings], Awaitable[None]]) -> NoReturn:
    """Run `main` until a signal ends it, then end the process; errors of `main` are raised."""
    _set_up_logs()
    leave(_run(main, f"paramedic-{main.__module__.partition('.')[0]}"))


def _run(main: Callable[[Settings], Awaitable[None]], program: str) -> int:
    try:
        settings = Settings.from_environment(os.environ | _options(program))
        _set_log_level(settings.log_level)
        keep_full_collections_short()
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
        description="All other settings are variables, see docs/settings.md.",
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
    loop.set_exception_handler(_report)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of the loop, unless uvloop failed to write to a connection that is closed already.

    After a freeze, data arrives on connections that timed out meanwhile. For each of them uvloop reports a
    fatal error with a traceback, although nothing is lost.
    """
    exception = context.get("exception")
    is_late = isinstance(exception, RuntimeError) and str(exception).endswith(_CLOSED)
    if is_late and "transport" in context:  # the failure of a task has none
        return
    loop.default_exception_handler(context)


def _set_up_logs() -> None:
    """Log to standard error, from level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    # The formatter adds Temporal's context, to the lines of every logger.
    workflow.logger.workflow_info_on_message = workflow.logger.workflow_info_on_extra = False
    activity.logger.activity_info_on_message = activity.logger.activity_info_on_extra = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _set_log_level(level: str) -> None:
    """Set the level of our own loggers: libraries log whole responses at DEBUG, also of Secrets."""
    for package in _OURS:
        logging.getLogger(package).setLevel(level.upper())
