"""`paramedic list --watch`: a live page, which says how much does not fit."""

import asyncio
import contextlib
import io
import os
import pty
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from datetime import UTC, datetime

import pytest
from rich.console import Console, Group
from rich.text import Text

from cli.incidents.watching import Fitting, head
from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from tests.support.cluster.command import PARAMEDIC, Command, drain, until_drawn
from tests.support.cluster.forked import Forked, fork
from tests.support.story.fleet import Fleet
from tests.support.values.observations import expired, held

WITH_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A shell lets what it runs in the background ignore Ctrl-C, and so would all that the tests start there."""


async def test_watch_shows_changes_until_a_signal_and_leaves_the_cursor(
    fleet: Fleet, temporal_server: TemporalServer
) -> None:
    await fleet.fail("node-1", held())
    await fleet.reaches("node-1", Phase.HELD)
    await fleet.listed("Running", 1)
    environment = os.environ | {
        **temporal_server.environment,
        "TERM": "xterm",
        "COLUMNS": "120",
        "LINES": "30",
    }
    arguments = ("list", "--watch", "--cluster", fleet.cluster)
    ours, its = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WITH_CTRL_C, PARAMEDIC, *arguments),
        env=environment,
        stdin=DEVNULL,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    try:
        await until_drawn(ours, "1 incident: 1 Held")
        await fleet.see("node-1", expired())
        await until_drawn(ours, "1 incident: 1 Remediating")
        await _ends_by(signal.SIGINT, 130, process, ours)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)

    ours, its = pty.openpty()
    forked = fork("paramedic", arguments, environment, out=its, err=its)
    os.close(its)
    try:
        await until_drawn(ours, "1 incident: 1 Remediating")
        await _ends_by(signal.SIGTERM, 143, forked, ours)
    finally:
        forked.send_signal(signal.SIGKILL)
        os.close(ours)


async def _ends_by(number: signal.Signals, code: int, process: Process | Forked, terminal: int) -> None:
    process.send_signal(number)
    # A terminal goes on reading: a command that says its last words to a full one would hang.
    drained = asyncio.create_task(asyncio.to_thread(drain, terminal))
    async with asyncio.timeout(60):
        assert await process.wait() == code
        assert b"\x1b[?25h" in await drained


@pytest.mark.parametrize("has_keyboard", [False, True])
async def test_watch_ends_at_sigterm_although_its_terminal_takes_no_more_output(
    has_keyboard: bool,  # noqa: FBT001  a parameter
    temporal_server: TemporalServer,
) -> None:
    ours, its = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(PARAMEDIC, "list", "--watch", "--cluster", "none"),
        env=os.environ | {**temporal_server.environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
        stdin=its if has_keyboard else DEVNULL,
        stdout=its,
        stderr=its,
    )
    try:
        await until_drawn(ours, "no incidents")
        _fill(os.ttyname(its))
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await process.wait() == 143
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(its)
        os.close(ours)


def _fill(terminal: str) -> None:
    """Write until the terminal takes no more, by a description of its own that does not block."""
    writer = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 100)
    os.close(writer)


async def test_watch_needs_a_terminal_and_draws_the_table_alone(paramedic: Command) -> None:
    ran = await paramedic("list", "--watch")
    assert ran.code == 2
    assert "--watch" in ran.err
    ran = await paramedic("list", "--watch", "-o", "json")
    assert ran.code == 2
    assert "json" in ran.err


def test_time_of_a_page_is_in_utc_like_all_other_times() -> None:
    seen = datetime(2026, 11, 22, 2, 44, 59, tzinfo=UTC)
    assert head("1 incident", seen, "").plain == "02:44:59Z  1 incident"
    assert head("1 incident", seen, "Temporal is away").plain == "Temporal is away; this is of 02:44:59Z"


def drawn(rows: int, height: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=40, height=height, force_terminal=True, color_system=None)
    page = Group(*(Text(f"row {row}") for row in range(rows)))
    console.print(Group(Text("headline"), Fitting(page)))
    return out.getvalue().splitlines()


def test_page_that_fits_is_drawn_whole() -> None:
    assert drawn(rows=4, height=5) == ["headline", "row 0", "row 1", "row 2", "row 3"]


def test_of_one_that_does_not_the_last_line_says_how_many_more_there_are() -> None:
    assert drawn(rows=10, height=5) == ["headline", "row 0", "row 1", "row 2", "7 more"]


def test_on_a_terminal_of_one_line_nothing_breaks() -> None:
    assert drawn(rows=2, height=1) == ["headline", "2 more"]
