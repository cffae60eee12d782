"""How the two processes end where their settings cannot be used."""

import asyncio
import json
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


async def writes_late(settings: Settings) -> None:  # noqa: ARG001  as a process of ours is called
    """Report a write to a closed connection as uvloop does, and then another error of the loop."""
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.transport.abort()
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="handler is closed") as late:
        writer.write(b"late")
    reported = {"exception": late.value, "transport": writer.transport}
    loop.call_exception_handler({"message": "Fatal error on SSL protocol"} | reported)
    loop.call_exception_handler({"message": "Another error", "exception": ValueError("broken")})
    loop.call_exception_handler({"message": "A task failed", "exception": late.value})


async def test_late_write_to_a_closed_connection_is_no_error_in_the_log() -> None:
    ran = await run(
        "worker",
        environment=os.environ | {"PARAMEDIC_CLUSTER": "c"},
        entry=partial(run_process, writes_late),
    )
    logged = [json.loads(line) for line in ran.err.splitlines()]
    assert [line["message"] for line in logged if line["level"] == "error"] == [
        "Another error",
        "A task failed",
    ]


async def test_output_is_flushed_before_a_process_exits() -> None:
    script = "import sys; from runtime.exit import leave; print('said' * 10_000, file=sys.stderr); leave(7)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, said = await process.communicate()
    assert (process.returncode, said.decode()) == (7, "said" * 10_000 + "\n")
