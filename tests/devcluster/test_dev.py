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


@pytest.mark.cluster
async def test_it_describes_what_runs_mends_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with dev(tmp_path) as process:
        content = description(tmp_path)
        assert set(content["pids"]) == {"temporal", "etcd", "control_plane", "manager"}
        assert content["cluster"].startswith("dev-")
        assert content["audit_log"] == str(tmp_path / "logs" / "audit.log")
        assert (await kubectl(Path(content["kubeconfig"]), "get", "nodes"))[0] == 0

        os.kill(content["pids"]["manager"], signal.SIGKILL)

        async def mended() -> bool:
            return bool(
                description(tmp_path)["pids"].get("manager") not in {content["pids"]["manager"], None}
            )

        await until(mended, within=PATIENCE, otherwise="the manager is not started again")
        pids = description(tmp_path)["pids"].values()
        assert all(map(runs, pids))

        process.terminate()
        assert await asyncio.wait_for(process.wait(), PATIENCE.total_seconds()) == 0
        assert not any(map(runs, pids))
        assert not description(tmp_path)


@pytest.mark.cluster
async def test_one_that_is_killed_leaves_no_process_and_the_next_one_goes_on(tmp_path: Path) -> None:
    async with dev(tmp_path) as process:
        first = description(tmp_path)
        second = await start(tmp_path)
        _, complaint = await second.communicate()
        assert second.returncode == 1
        assert complaint.decode().count("\n") == 1
        assert "is in use by another paramedic dev" in complaint.decode()

        process.kill()
        for pid in first["pids"].values():
            await gone(pid)
    (tmp_path / "dev.json").unlink()
    async with dev(tmp_path):
        again = description(tmp_path)
    assert {**again, "pids": {}} == {**first, "pids": {}}


@pytest.mark.cluster
async def test_it_is_ready_when_every_simulated_node_is_there() -> None:
    with tempfile.TemporaryDirectory(prefix="dev-") as short:  # pytest's own may be too long for a socket
        async with dev(Path(short), simulate_nodes=12) as process:
            content = description(Path(short))
            nodes = await kubectl(Path(content["kubeconfig"]), "get", "nodes", "-o", "name")
            assert nodes[1].count("node/node-") == 12
            assert {"kubelets", "remediator"} <= set(content["pids"])
            assert "machine_set" not in content["pids"]
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE.total_seconds()) == 0


MACHINE_SET = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {"name": "workers", "namespace": "default"},
    "spec": {"replicas": 1, "template": {"metadata": {"labels": {"pool": "workers"}}}},
}


@pytest.mark.cluster
async def test_machine_gets_a_node_that_fails_when_its_kubelet_is_told_to_stop() -> None:
    with tempfile.TemporaryDirectory(prefix="dev-") as short:
        directory = Path(short)
        async with dev(directory, machines="0.1"):
            kubeconfig = Path(description(directory)["kubeconfig"])
            (directory / "set.json").write_text(json.dumps(MACHINE_SET))
            assert (await kubectl(kubeconfig, "create", "-f", str(directory / "set.json")))[0] == 0
            phase_and_node = "jsonpath={.items[*].status.phase} {.items[*].status.nodeRef.name}"
            ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"

            async def runs_on_its_node() -> bool:
                shown = await kubectl(kubeconfig, "get", MACHINES, "-l", "pool=workers", "-o", phase_and_node)
                return shown[1].startswith("Running node-")

            async def is_unknown() -> bool:
                return (await kubectl(kubeconfig, "get", "nodes", "-o", ready))[1] == "Unknown"

            await until(runs_on_its_node, within=PATIENCE, otherwise="the Machine never runs")
            (node,) = (await ask(directory / "kubelets.sock", {"list": True}))["nodes"]
            await ask(directory / "kubelets.sock", {"stop": node["name"]})
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
