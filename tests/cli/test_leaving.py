"""The command ends with the right exit code, and without a crash of the interpreter."""

import asyncio
import os
import sys
import tempfile
from functools import partial

import pytest

from tests.cli.leaving import interrupted, leave
from tests.support.cluster.forked import PATIENCE_SECONDS, fork, run

SCRIPT = "from tests.cli.leaving import leave; leave('return 0')"


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
async def test_command_ends_at_once_with_the_code_that_it_was_reported(ends: str, code: int) -> None:
    ran = await run("paramedic", environment=os.environ, entry=partial(leave, ends))
    assert (ran.code, ran.out) == (code, "done")


async def test_command_line_that_is_wrong_ends_with_2() -> None:
    ran = await run("paramedic", "setup", "--nonsense", environment=os.environ)
    assert (ran.code, ran.out) == (2, "")


async def test_interrupted_command_ends_with_130() -> None:
    ran = await run("paramedic", environment=os.environ, entry=interrupted)
    assert ran.code == 130


@pytest.mark.parametrize(("redirected", "said"), [(">&-", ""), ("2>&-", "done")])
async def test_output_that_is_closed_is_left_alone(redirected: str, said: str) -> None:
    command = ("-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", SCRIPT)
    process = await asyncio.create_subprocess_exec("sh", *command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, _ = await process.communicate()
    assert (process.returncode, out.decode()) == (0, said)


async def test_output_that_cannot_be_written_is_one_sentence() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    ended = await leaves_to(full, 0)
    os.close(full)
    assert ended == (1, "paramedic: standard output cannot be written: No space left on device\n")


async def test_command_whose_output_is_closed_ends_quietly_with_141() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = await leaves_to(writer, 1)
    os.close(writer)
    assert ended == (141, "")


async def leaves_to(out: int, code: int) -> tuple[int, str]:
    """How a command ends that says something to this descriptor and would end with `code`; its errors."""
    entry = partial(leave, f"return {code}")
    with tempfile.TemporaryFile() as err:
        process = fork("paramedic", (), os.environ, out=out, err=err.fileno(), entry=entry)
        async with asyncio.timeout(PATIENCE_SECONDS):
            ended = await process.wait()
        err.seek(0)
        return ended, err.read().decode()
