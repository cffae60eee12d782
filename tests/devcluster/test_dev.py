"""`paramedic dev` and demos on one directory: servers are described, die, are killed, and are reused."""

import asyncio
import io
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from temporalio.client import Client as TemporalClient

from devcluster.cluster_api_crds import NewestVersion
from devcluster.demo import fixtures
from devcluster.demo.narrator import Narrator
from devcluster.demo.process import DevProcess
from devcluster.demo.scenarios import SCRIPTS, Scenario
from devcluster.demo.stage import PlayOptions, stage
from devcluster.dev import DevSettings
from devcluster.errors import OptionsError
from devcluster.polling import until
from kube.client import Client
from kube.resource import NAMESPACES, NODES, Object
from kube.transport import Transport
from tests.devcluster.processes import gone, runs
from tests.support.cluster.command import PARAMEDIC
from tests.support.cluster.forked import run

pytestmark = pytest.mark.timeout(240)  # whoever asks first waits for a whole story

PATIENCE = timedelta(seconds=120)
SERVERS = {"temporal", "etcd", "control_plane", "manager"}
OURS = {"detector", "worker"}
SIMULATED = {"simulation"}
ENDED_WELL = "The workflow ended with the outcome Remediated."
GOES_AFTERWARDS = "(until the end of the story; --stay keeps it up): "


def description(directory: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((directory / "dev.json").read_text())
    except FileNotFoundError:
        return {}
    return content


async def temporal_of(content: dict[str, Any]) -> TemporalClient:
    return await TemporalClient.connect(content["temporal_address"], namespace=content["temporal_namespace"])


@asynccontextmanager
async def admin(content: dict[str, Any]) -> AsyncIterator[Client]:
    """A client of the cluster that is described."""
    async with await Transport.connect(content["kubeconfig"]) as transport:
        yield Client(transport, "test")


class Demo:
    """A demo that runs, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process, directory: Path, said: Path) -> None:
        self.process = process
        self.dev = DevProcess(process, directory / "dev.json")
        self._said = said

    def said(self) -> str:
        return self._said.read_text()

    async def until_said(self, words: str) -> None:
        async def is_said() -> bool:
            assert self.process.returncode is None, self.said()
            return words in self.said()

        await until(is_said, within=PATIENCE, otherwise=f"it never said {words!r}")


async def until_described(directory: Path, running: Demo) -> None:
    """Return when it is ready, as it says by this file."""

    async def is_described() -> bool:
        assert running.process.returncode is None, running.said()
        return bool(description(directory))

    await until(is_described, within=PATIENCE, otherwise="it is never ready")


@asynccontextmanager
async def demo(directory: Path, *arguments: str) -> AsyncIterator[Demo]:
    """A running `paramedic demo`, killed at the end if it still runs."""
    said = directory / f"said{len(arguments)}"
    with said.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            PARAMEDIC, "demo", "--dir", str(directory), *arguments, stdout=file
        )
    try:
        yield Demo(process, directory, said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture(scope="module")
async def directory() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dev-") as short:
        yield Path(short)


@pytest.fixture(scope="module")
async def first(directory: Path) -> AsyncIterator[Demo]:
    """The story of Machines, told to its end; what it runs on stays. The last test of it kills it."""
    async with demo(directory, "--scenario", "machine", "--stay") as running:
        await running.until_said("Everything keeps running until Ctrl-C.")
        assert running.said().count(ENDED_WELL) == 2
        assert GOES_AFTERWARDS not in running.said()
        yield running


@pytest.mark.cluster
@pytest.mark.usefixtures("first")
async def test_it_describes_what_runs(directory: Path) -> None:
    content = description(directory)
    assert set(content["pids"]) == SERVERS | OURS | SIMULATED
    assert set(content["ready_urls"]) == OURS
    assert content["cluster"].startswith("dev-")
    assert content["audit_log"] == str(directory / "logs" / "audit.log")


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
    second = await run("paramedic", "dev", "--dir", str(directory), environment=os.environ)
    assert second.code == 1
    assert second.err.count("\n") == 1
    assert "is in use by another paramedic dev" in second.err


@pytest.mark.cluster
async def test_story_of_an_upgrade_follows_that_of_machines_to_its_end(first: Demo) -> None:
    """On the same servers: both need the same."""
    said, upgrade = io.StringIO(), SCRIPTS[Scenario.UPGRADE]
    assert upgrade.dev_arguments == SCRIPTS[Scenario.MACHINE].dev_arguments
    async with stage(first.dev, PlayOptions(stay=True), Narrator(Console(file=said))) as ready:
        await upgrade.play(ready)
    assert "The cluster was upgraded, no node was remediated, and nothing is left behind." in said.getvalue()


@pytest.mark.cluster
async def test_one_that_is_killed_leaves_no_process_and_the_next_one_goes_on_and_ends_in_order(
    directory: Path, first: Demo
) -> None:
    """The next one uses the same data, addresses and credentials, and reports on a node."""
    before = description(directory)
    kept: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kept"}}
    async with admin(before) as client:
        await client.create(NAMESPACES, kept)
    await (await temporal_of(before)).start_workflow("Nobody", id="kept", task_queue="nobody")
    first.process.kill()
    for pid in before["pids"].values():
        await gone(pid)
    (directory / "dev.json").unlink()
    async with demo(directory) as second:
        await until_described(directory, second)
        again = description(directory)
        assert {**again, "pids": {}} == {**before, "pids": {}}
        assert set(again["pids"]) == SERVERS | OURS | SIMULATED
        async with admin(again) as client:
            assert await client.get(NAMESPACES, "kept")
            nodes = {node["metadata"]["name"] for node in await client.list(NODES)}
        assert nodes >= {f"node-{number}" for number in range(1, fixtures.NODES + 1)}
        workflow = await (await temporal_of(again)).get_workflow_handle("kept").describe()
        assert workflow.workflow_type == "Nobody"

        assert await asyncio.wait_for(second.process.wait(), PATIENCE.total_seconds()) == 0
        assert second.said().count(ENDED_WELL) == 1
        assert second.said().count(GOES_AFTERWARDS) == 2
        assert not any(map(runs, again["pids"].values()))
        assert not description(directory)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(
            {"without": frozenset({"temporal"})},
            "--without knows detector, worker, cluster-api-crds; not temporal",
            id="without",
        ),
        pytest.param(
            {
                "without": frozenset({"cluster-api-crds"}),
                "cluster_api": NewestVersion.V1BETA2,
            },
            "--cluster-api needs what --without cluster-api-crds leaves out",
            id="stand-ins without their CRDs",
        ),
        pytest.param({"temporal": "7233"}, "needs the host:port of a Temporal, not '7233'", id="temporal"),
        pytest.param({"temporal": ":7233"}, "needs the host:port", id="temporal without a host"),
        pytest.param({"simulate_nodes": -1}, "needs a number of nodes", id="nodes"),
        pytest.param({"provisioning": timedelta()}, "need time for their provisioning", id="machines"),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OptionsError, match=sentence):
        DevSettings(directory=Path("unused"), **arguments)


def test_our_processes_get_the_directory_of_addresses_and_the_kinds_that_are_served() -> None:
    assert DevSettings(directory=Path("unused")).of_processes == {}
    named = DevSettings(directory=Path("unused"), notification_directory=Path("addresses"))
    assert named.of_processes == {"PARAMEDIC_NOTIFICATION_DIRECTORY": str(Path.cwd() / "addresses")}
    without = DevSettings(directory=Path("unused"), without=frozenset({"cluster-api-crds"}))
    kinds = "nodehealthchecks.remediation.medik8s.io,machinehealthchecks.machine.openshift.io"
    assert without.of_processes == {"PARAMEDIC_CHECK_KINDS": kinds}
