"""How the command ends: with the code that it was told, and without taking the interpreter down."""

import asyncio
import os
import sys
from functools import partial

import pytest

from tests.cli.leaving import interrupted, leave
from tests.forked import run

SCRIPT = (
    "from cli import main\n"
    "def app(**_):\n"
    "    print('done', end='')\n"
    "    return {code}\n"
    "main.app = app\n"
    "main.run()\n"
)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ("return None", 0),
        ("return 0", 0),
        ("return 4", 4),
        ("return 130", 130),
        ("raise SystemExit(None)", 0),
        ("raise SystemExit(1)", 1),
        ("raise SystemExit('no')", 1),
    ],
)
async def test_command_ends_at_once_with_the_code_that_it_was_told(ends: str, code: int) -> None:
    ran = await run("paramedic", environment=os.environ, entry=partial(leave, ends))
    assert (ran.code, ran.out) == (code, "done")


async def test_command_line_that_is_wrong_ends_with_2() -> None:
    ran = await run("paramedic", "setup", "--nonsense", environment=os.environ)
    assert (ran.code, ran.out) == (2, "")


async def test_interrupted_command_ends_with_130() -> None:
    ran = await run("paramedic", environment=os.environ, entry=interrupted)
    assert ran.code == 130


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        ("2>&1 >/dev/full", 1, "paramedic: standard output cannot be written: No space left on device\n"),
        (">&-", 0, ""),
        ("2>&-", 0, "done"),
    ],
)
async def test_output_that_cannot_be_written_is_one_sentence_and_that_is_closed_is_left_alone(
    redirected: str, code: int, said: str
) -> None:
    command = ("-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", SCRIPT.format(code=0))
    process = await asyncio.create_subprocess_exec("sh", *command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    assert (process.returncode, out.decode()) == (code, said)


async def test_command_that_nobody_reads_any_more_ends_quietly_with_141() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT.format(code=1), stdout=writer, stderr=asyncio.subprocess.PIPE
    )
    os.close(writer)
    async with asyncio.timeout(60):
        _, said = await process.communicate()
    assert (process.returncode, said) == (141, b"")
