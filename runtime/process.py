"""Runs one of our processes: settings, logs, and a clean end on SIGTERM and SIGINT.

Settings come from the environment; the only command line option is written into it, so that it has the same
effect as its variable.

A log line is one JSON object with a constant message, and variable parts in fixed keys. A line about an
incident has `workflow_id`, `check` and `target`. They come from Temporal's context of the activity or
workflow that logs, or from an `item` that is a workflow id, so no call has to pass them. Values come from
objects that others write: their length is limited, and JSON escapes control characters.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import uvloop
from temporalio import activity, workflow

from health.model.references import check_of, target_of, workflow_id_of
from runtime.exit import leave
from runtime.serving import CannotListen
from runtime.settings import CHECK_KINDS_VARIABLE, Settings, SettingsError

FAILED = 1
"""Exit code where the machine refuses what the settings ask for."""
BAD_SETTINGS = 2
"""Exit code where the command line or the environment says something that cannot be used."""
_CLOSED = "; the handler is closed"
"""The end of uvloop's error of a write to a connection that is closed; the error has no type of its own."""
LONGEST_VALUE = 8_000
"""In characters."""
_CUT = " [cut] "
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""The attributes of every log record."""
ALL_AGAIN_AFTER = timedelta(hours=1)
MOST_EXAMINED = 300_000
"""Frozen objects that one collection may examine again: about 130 ms."""
FULL = 2
"""The generation of a full collection."""
COLLECT_SECONDS = 1.0
_OURS = ("activities", "detector", "kube", "runtime", "worker")
"""What logs from the level on that a setting says."""


class _Options(argparse.ArgumentParser):
    """Refuses arguments with one sentence, like settings."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{self.prog}: {message} (see --help)")


def run_process(main: Callable[[Settings], Awaitable[None]]) -> NoReturn:
    """Run `main` until a signal ends it, then end the process; errors of `main` are raised."""
    _set_up_logs()
    code = 0
    try:
        settings = Settings.from_environment(
            os.environ | _options(f"paramedic-{main.__module__.partition('.')[0]}")
        )
        for package in _OURS:  # libraries log whole responses at DEBUG, also of Secrets
            logging.getLogger(package).setLevel(settings.log_level.upper())
        keep_full_collections_short()
        uvloop.run(_until_signal(main(settings)))
    except (SettingsError, CannotListen) as error:
        sys.stderr.write(f"{error}\n")
        code = BAD_SETTINGS if isinstance(error, SettingsError) else FAILED
    leave(code)


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


async def _until_signal(main: Awaitable[None]) -> None:
    task = asyncio.ensure_future(main)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_report)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    collecting = asyncio.create_task(_collect_often())
    with contextlib.suppress(asyncio.CancelledError):
        await task
    collecting.cancel()


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


def incident_keys(full_id: str) -> dict[str, str]:
    """The keys of a line about the workflow; without check and target if the id is cut, or no incident's."""
    check, workflow_id = check_of(full_id), workflow_id_of(full_id)
    if check is None:
        return {"workflow_id": workflow_id}
    return {"workflow_id": workflow_id, "check": str(check), "target": target_of(full_id)}


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        given = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        item = given.get("item")  # a guard may name an incident as its item
        of_item = incident_keys(item) if isinstance(item, str) and check_of(item) is not None else {}
        for key, value in [*given.items(), *of_item.items(), *_context()]:
            line.setdefault(key, value)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({key: _short(value) for key, value in line.items()})


def _context() -> Iterator[tuple[str, str | int]]:
    """The keys of the activity or workflow that logs."""
    if activity.in_activity():
        info = activity.info()
        yield from incident_keys(info.workflow_id or "").items()
        yield from (("run_id", info.workflow_run_id or ""), ("activity", info.activity_type))
        yield "attempt", info.attempt
    elif workflow.in_workflow():
        yield from incident_keys(workflow.info().workflow_id).items()
        yield "run_id", workflow.info().run_id


def _short(value: object) -> object:
    """A value of a line; of a long text, as of a traceback, the beginning and the end stay."""
    if value is None or isinstance(value, (int, float)):
        return value
    text, beginning = str(value), LONGEST_VALUE // 4
    if len(text) <= LONGEST_VALUE:
        return text
    return text[:beginning] + _CUT + text[beginning + len(_CUT) - LONGEST_VALUE :]


class FullCollections:
    """A callback of `gc` that keeps full collections short, because the event loop stops during one.

    A full collection examines every container in memory. With 5,000 open incidents this took 0.35 s of
    processor time, again and again, and found nothing. So an object that survived a full collection is
    frozen: the next one does not examine it. Reference counting still frees frozen objects; only cycles among
    them stay. For these, a full collection examines all objects again once an hour, unless they are too many.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_due = clock()

    def __call__(self, phase: str, information: Mapping[str, int]) -> None:
        if information["generation"] != FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._clock() - self._last_due >= ALL_AGAIN_AFTER.total_seconds():
            self._last_due = self._clock()
            if gc.get_freeze_count() <= MOST_EXAMINED:  # to count them walks through them
                gc.unfreeze()


def keep_full_collections_short() -> None:
    """Freeze the objects that survive full collections, for the rest of the process.

    Call it before the event loop starts: the first collection examines all modules, which takes 0.1 s.
    """
    gc.callbacks.append(FullCollections())
    gc.collect()


def collect_if_due() -> None:
    """Run a full collection if so many of the younger objects have come since the last one.

    By itself Python waits until a quarter as many objects are new as the last one examined. After the first
    list of 100,000 Nodes that would stop the event loop for 135 ms of processor time.
    """
    if gc.get_count()[FULL] >= gc.get_threshold()[FULL]:
        gc.collect()


async def _collect_often() -> None:
    while True:
        await asyncio.sleep(COLLECT_SECONDS)
        collect_if_due()
