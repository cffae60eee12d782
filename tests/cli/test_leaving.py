"""How the command ends: with the code that it was told, and without taking the interpreter down."""

import asyncio
import os
import sys

import pytest

SCRIPT = (
    "import atexit, sys\n"
    "from cli import main\n"
    "atexit.register(print, 'the interpreter was taken down')\n"
    "def app(**_):\n"
    "    print('done', end='')\n"
    "    {ends}\n"
    "main.app = app\n"
    "main.run()\n"
)


async def ended(*command: str, program: str = sys.executable) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(program, *command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        out, _ = await process.communicate()
    return process.returncode, out.decode()


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
    assert await ended("-c", SCRIPT.format(ends=ends)) == (code, "done")


async def test_command_line_that_is_wrong_ends_with_2() -> None:
    assert await ended("-m", "cli.main", "setup", "--nonsense") == (2, "")


async def test_interrupted_command_ends_with_130() -> None:
    interrupted = (
        "import sys, typer; from cli import main; main.app = typer.Typer()\n"
        "@main.app.command()\n"
        "def wait():\n"
        "    raise KeyboardInterrupt\n"
        "sys.argv = ['paramedic']; main.run()\n"
    )
    code, _ = await ended("-c", interrupted)
    assert code == 130


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
    script = SCRIPT.format(ends="return 0")
    assert await ended("-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", script, program="sh") == (
        code,
        said,
    )


async def test_command_that_nobody_reads_any_more_ends_quietly_with_141() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT.format(ends="return 1"), stdout=writer, stderr=asyncio.subprocess.PIPE
    )
    os.close(writer)
    async with asyncio.timeout(30):
        _, said = await process.communicate()
    assert (process.returncode, said) == (141, b"")
