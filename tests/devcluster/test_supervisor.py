import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import devcluster.supervisor
from devcluster.polling import until
from devcluster.supervisor import Program, Supervisor
from tests.devcluster.processes import gone, runs

PATIENCE = timedelta(seconds=60)


def program(tmp_path: Path, script: str, name: str = "child") -> Program:
    return Program(name, (sys.executable, "-c", script), tmp_path / "logs" / f"{name}.log")


SLEEP = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEP


async def wait_for(true: Callable[[], bool]) -> None:
    async def ask() -> bool:
        return true()

    await until(ask, within=PATIENCE, otherwise="it did not become true")


async def test_a_child_that_dies_is_reported_and_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[int] = []
    async with Supervisor(changed=lambda: seen.append(supervisor.pids["child"])) as supervisor:
        await supervisor.start(program(tmp_path, SLEEP))
        first = supervisor.pids["child"]
        os.kill(first, signal.SIGKILL)
        await wait_for(lambda: len(seen) == 1)
        second = supervisor.pids["child"]
    assert seen == [second]
    assert second != first
    assert f"child (pid {first}) was ended by SIGKILL; starting it again in 0.5 s" in capsys.readouterr().err


async def test_a_child_that_ends_by_itself_is_started_ever_more_slowly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = ""

    def thrice() -> bool:
        nonlocal reported
        reported += capsys.readouterr().err
        return reported.count("ended with status 3") == 3

    async with Supervisor() as supervisor:
        await supervisor.start(program(tmp_path, "raise SystemExit(3)"))
        await wait_for(thrice)
    assert [part.partition(" s,")[0] for part in reported.split("again in ")[1:]] == ["0.5", "1", "2"]


async def test_nothing_is_left_when_the_block_is_left(tmp_path: Path) -> None:
    async with Supervisor() as supervisor:
        await supervisor.start(program(tmp_path, SLEEP, "one"))
        await supervisor.start(program(tmp_path, SLEEP, "two"))
        pids = supervisor.pids.values()
        assert all(map(runs, pids))
    assert not any(map(runs, pids))


async def test_a_child_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devcluster.supervisor, "PATIENCE", timedelta(seconds=0.2))
    deaf = program(tmp_path, DEAF)
    async with Supervisor() as supervisor:
        await supervisor.start(deaf)
        await wait_for(lambda: "up" in deaf.log.read_text())
        pid = supervisor.pids["child"]
    assert not runs(pid)


async def test_a_child_that_is_waiting_to_be_started_again_stays_away_when_stopped(tmp_path: Path) -> None:
    async with Supervisor() as supervisor:
        await supervisor.start(program(tmp_path, "raise SystemExit(3)"))
        await wait_for(lambda: not supervisor.pids)
        await supervisor.stop("child")
        assert not supervisor.pids


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed parent")
async def test_children_end_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from devcluster.supervisor import Program\n"
        "from devcluster.supervisor import Supervisor\n"
        "async def main():\n"
        "    async with Supervisor() as supervisor:\n"
        "        await supervisor.start(Program('child', ('sleep', '600'), Path(sys.argv[1])))\n"
        "        print(supervisor.pids['child'], flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    command = (sys.executable, "-c", script, str(tmp_path / "log"))
    parent = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert runs(child)
    parent.kill()
    await parent.communicate()
    await gone(child)


async def test_settings_for_another_cluster_do_not_reach_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_API_KEY", "of production")
    monkeypatch.setenv("KUBECONFIG", "of production")
    script = "import os; print(dict(os.environ), 'end', flush=True); import time; time.sleep(600)"
    child = program(tmp_path, script)
    async with Supervisor() as supervisor:
        await supervisor.start(child)
        await wait_for(lambda: "end" in child.log.read_text())
    assert "of production" not in child.log.read_text()
