import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devcluster.dev import DevSettings
from devcluster.errors import SettingsError
from devcluster.polling import until
from devcluster.simulation.control_socket import ask
from tests.devcluster.kubectl import kubectl
from tests.devcluster.processes import gone, runs

PATIENCE = timedelta(seconds=60)
MACHINES = "machines.machine.openshift.io"
NODES = 12
SCRIPT = (
    "import asyncio, sys; from datetime import timedelta; from pathlib import Path\n"
    "from devcluster.dev import DevSettings, run\n"
    "from devcluster.errors import DevclusterError\n"
    "try:\n"
    "    machines = timedelta(seconds=float(sys.argv[3])) if sys.argv[3] else None\n"
    "    left_out = frozenset({'detector', 'worker'})\n"
    "    settings = DevSettings(Path(sys.argv[1]), int(sys.argv[2]), left_out, machines)\n"
    "    asyncio.run(run(settings))\n"
    "except DevclusterError as error:\n"
    "    sys.exit(str(error))\n"
)


def description(directory: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((directory / "dev.json").read_text())
    except FileNotFoundError:
        return {}
    return content


async def start(directory: Path, simulate_nodes: int = 0, machines: str = "") -> asyncio.subprocess.Process:
    command = (sys.executable, "-c", SCRIPT, str(directory), str(simulate_nodes), machines)
    return await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)


@asynccontextmanager
async def dev(
    directory: Path, simulate_nodes: int = 0, machines: str = ""
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running `paramedic dev` without our own processes, ready; killed at the end if it still runs.

    `machines` is how many seconds a Machine waits for its node, "" for nobody looks after Machines.
    """
    process = await start(directory, simulate_nodes, machines)

    async def ready() -> bool:
        return bool(description(directory)) or process.returncode is not None

    try:
        await until(ready, within=PATIENCE, otherwise="it does not become ready")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture(scope="module")
async def directory() -> AsyncIterator[Path]:
    """Where all of it runs; pytest's own directory may be too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="dev-") as short:
        yield Path(short)


@pytest.fixture(scope="module")
async def first(directory: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The first run on the directory, with simulated nodes; the last test of it kills it."""
    async with dev(directory, simulate_nodes=NODES) as process:
        yield process


@pytest.mark.cluster
@pytest.mark.usefixtures("first")
async def test_it_describes_what_runs_and_is_ready_when_every_simulated_node_is_there(
    directory: Path,
) -> None:
    content = description(directory)
    servers = {"temporal", "etcd", "control_plane", "manager"}
    assert set(content["pids"]) == servers | {"kubelets", "remediator"}
    assert content["cluster"].startswith("dev-")
    assert content["audit_log"] == str(directory / "logs" / "audit.log")
    nodes = await kubectl(Path(content["kubeconfig"]), "get", "nodes", "-o", "name")
    assert nodes[1].count("node/node-") == NODES


@pytest.mark.cluster
@pytest.mark.usefixtures("first")
async def test_server_that_dies_is_started_again(directory: Path) -> None:
    manager = description(directory)["pids"]["manager"]
    os.kill(manager, signal.SIGKILL)

    async def mended() -> bool:
        return description(directory)["pids"].get("manager") not in {manager, None}

    await until(mended, within=PATIENCE, otherwise="the manager is not started again")
    assert all(map(runs, description(directory)["pids"].values()))


@pytest.mark.cluster
@pytest.mark.usefixtures("first")
async def test_second_one_on_the_same_directory_is_refused(directory: Path) -> None:
    second = await start(directory)
    _, complaint = await second.communicate()
    assert second.returncode == 1
    assert complaint.decode().count("\n") == 1
    assert "is in use by another paramedic dev" in complaint.decode()


@pytest.mark.cluster
async def test_one_that_is_killed_leaves_no_process_and_the_next_one_goes_on_and_ends_in_order(
    directory: Path, first: asyncio.subprocess.Process
) -> None:
    before = description(directory)
    first.kill()
    for pid in before["pids"].values():
        await gone(pid)
    (directory / "dev.json").unlink()
    async with dev(directory, machines="0.1") as process:
        again = description(directory)
        assert {**again, "pids": {}} == {**before, "pids": {}}
        assert "machine_set" in again["pids"]
        await _machine_gets_a_node_that_fails_when_its_kubelet_is_told_to_stop(directory)

        process.terminate()
        assert await asyncio.wait_for(process.wait(), PATIENCE.total_seconds()) == 0
        assert not any(map(runs, again["pids"].values()))
        assert not description(directory)


MACHINE_SET = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {"name": "workers", "namespace": "default"},
    "spec": {"replicas": 1, "template": {"metadata": {"labels": {"pool": "workers"}}}},
}


async def _machine_gets_a_node_that_fails_when_its_kubelet_is_told_to_stop(directory: Path) -> None:
    kubeconfig = Path(description(directory)["kubeconfig"])
    (directory / "set.json").write_text(json.dumps(MACHINE_SET))
    assert (await kubectl(kubeconfig, "create", "-f", str(directory / "set.json")))[0] == 0
    name_and_phase = "jsonpath={.items[*].status.nodeRef.name} {.items[*].status.phase}"
    shown = ""

    async def runs_on_its_node() -> bool:
        nonlocal shown
        shown = (await kubectl(kubeconfig, "get", MACHINES, "-l", "pool=workers", "-o", name_and_phase))[1]
        return shown.startswith("node-") and shown.endswith(" Running")

    await until(runs_on_its_node, within=PATIENCE, otherwise="the Machine never runs")
    node = shown.split(maxsplit=1)[0]
    ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"

    async def is_unknown() -> bool:
        return (await kubectl(kubeconfig, "get", "node", node, "-o", ready))[1] == "Unknown"

    await ask(directory / "kubelets.sock", {"stop": node})
    await until(is_unknown, within=PATIENCE, otherwise="the node does not fail")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(
            {"without": frozenset({"temporal"})}, "--without knows detector and worker", id="without"
        ),
        pytest.param({"simulate_nodes": -1}, "needs a number of nodes", id="nodes"),
        pytest.param(
            {"machine_provisioning": timedelta()}, "need time for their provisioning", id="machines"
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        DevSettings(Path("unused"), **arguments)
