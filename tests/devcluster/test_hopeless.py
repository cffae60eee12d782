"""A program that dies whenever it is started is not waited for."""

import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from devcluster import control_plane
from devcluster.assets import Servers
from devcluster.errors import HopelessError, NotReadyError
from devcluster.polling import until
from devcluster.supervisor import LastWords, Program, Supervisor
from objects.backoff import Backoff
from tests.support.api.ports import own_layout

LONG = timedelta(seconds=60)


async def never() -> bool:
    return False


def program(tmp_path: Path, script: str) -> Program:
    return Program("child", (sys.executable, "-c", script), tmp_path / "child.log")


async def test_waiting_ends_with_the_last_words_of_a_program_that_died_three_times(tmp_path: Path) -> None:
    broken = program(tmp_path, "import sys; print('one', flush=True); sys.exit('no such flag: --x')")
    async with Supervisor() as supervisor:
        await supervisor.start(broken)
        began = time.monotonic()
        with pytest.raises(HopelessError) as given_up:
            await supervisor.until(never, within=LONG, otherwise="too late")
        assert time.monotonic() - began < 20
    assert str(given_up.value) == (
        f"child ended with status 1, 3 times in a row, and said 'no such flag: --x': see {broken.log}"
    )


async def test_program_that_died_twice_is_waited_for(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = (
        f"import pathlib, time; count = pathlib.Path({str(count)!r}); "
        "n = len(count.read_text()) if count.exists() else 0; count.write_text('x' * (n + 1)); "
        "n < 2 and exit(1); time.sleep(600)"
    )

    async def lives() -> bool:
        return count.exists() and count.read_text() == "xxx"

    async with Supervisor() as supervisor:
        await supervisor.start(program(tmp_path, script))
        await supervisor.until(lives, within=LONG, otherwise="it is not started a third time")
        supervisor.require_hope()
        with pytest.raises(NotReadyError, match="it does not answer"):
            await supervisor.until(never, within=timedelta(), otherwise="it does not answer")


async def test_broken_server_fails_the_start_of_a_control_plane_within_seconds(tmp_path: Path) -> None:
    broken = ("/bin/sh", "-c", "echo etcd: wrong architecture >&2; exit 3")
    began = time.monotonic()
    with pytest.raises(HopelessError, match=r"etcd ended with status 3.*'etcd: wrong architecture'"):
        async with control_plane.control_plane(own_layout(tmp_path), Servers(broken, broken, broken)):
            pass
    assert time.monotonic() - began < 20


async def test_deaths_after_a_long_life_are_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devcluster.supervisor.STEADY", timedelta())
    monkeypatch.setattr("devcluster.supervisor.RESTARTS", Backoff(timedelta(milliseconds=1), LONG))
    deaths: list[int] = []
    async with Supervisor(changed=lambda: deaths.append(1)) as supervisor:
        await supervisor.start(program(tmp_path, "import time; time.sleep(600)"))

        async def killed_often() -> bool:
            if pid := supervisor.pids.get("child"):
                os.kill(pid, signal.SIGKILL)
            return len(deaths) >= 4

        await until(killed_often, within=LONG, otherwise="it is not started again")
        supervisor.require_hope()


def test_last_words_of_an_earlier_run_count_for_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert LastWords(log).read() == "nothing"
    log.write_text("of yesterday\n")
    now = LastWords(log)
    assert now.read() == "nothing"
    with log.open("a") as file:
        file.write("x" * 20_000 + "\nbind: address in use\n\n")
    assert now.read() == "'bind: address in use'"
