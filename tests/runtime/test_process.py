"""How the two processes end where their settings cannot be used."""

import asyncio
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path

import pytest

from runtime.process import run_process
from runtime.settings import Settings
from tests.support.api.eventually import eventually
from tests.support.cluster.forked import fork, run

BOTH = pytest.mark.parametrize("name", ["detector", "worker"])


async def ended(name: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code of a process of ours, and what it said on standard error."""
    ran = await run(name, *arguments, environment=os.environ | environment)
    return ran.code, ran.err


@BOTH
@pytest.mark.parametrize("address", ["foo", "127.0.0.1:99999"])
async def test_address_that_is_none_ends_it_with_code_2_and_one_sentence(name: str, address: str) -> None:
    code, said = await ended(name, PARAMEDIC_CLUSTER="c", PARAMEDIC_READY_ADDRESS=address)
    assert code == 2
    assert said.count("\n") == 1
    assert said.startswith("PARAMEDIC_READY_ADDRESS: ")
    assert repr(address) in said


@BOTH
async def test_address_that_is_taken_ends_it_with_code_1_and_one_sentence(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        code, said = await ended(name, PARAMEDIC_CLUSTER="c", PARAMEDIC_READY_ADDRESS=address)
    assert code == 1
    logged, sentence = said.splitlines()
    assert '"connecting"' in logged
    assert sentence == f"PARAMEDIC_READY_ADDRESS: cannot listen on '{address}': Address already in use"


@BOTH
async def test_unknown_host_ends_it_with_code_1_and_one_sentence(name: str) -> None:
    code, said = await ended(name, PARAMEDIC_CLUSTER="c", PARAMEDIC_READY_ADDRESS="no.invalid:80")
    assert code == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("PARAMEDIC_READY_ADDRESS: cannot listen on 'no.invalid:80': ")


async def stays_up(settings: Settings) -> None:  # noqa: ARG001  as a process of ours is called
    """The work of a process until it is stopped."""
    sys.stdout.write("up\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_ends_it_with_code_0(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = fork(
            "worker",
            (),
            os.environ | {"PARAMEDIC_CLUSTER": "c"},
            out=out.fileno(),
            err=out.fileno(),
            entry=partial(run_process, stays_up),
        )
    await eventually(lambda: log.read_text() == "up\n")
    process.send_signal(number)
    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_output_is_flushed_before_a_process_exits() -> None:
    script = "import sys; from runtime.exit import leave; print('said' * 10_000, file=sys.stderr); leave(7)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, said = await process.communicate()
    assert (process.returncode, said.decode()) == (7, "said" * 10_000 + "\n")
