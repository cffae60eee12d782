"""What runs is described, dies and is killed, under demos that go on with one directory after each other.

All stories are told where one demo stays; the next one has but to begin where that was, and to end.
"""

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

from devcluster.demo import fixtures
from devcluster.demo.dev_process import DevProcess
from devcluster.demo.environment import environment
from devcluster.demo.narrator import Narrator
from devcluster.demo.settings import DemoSettings, Scenario
from devcluster.demo.story import SCENARIOS
from devcluster.dev import DevSettings
from devcluster.errors import SettingsError
from devcluster.polling import until
from devcluster.simulation.control_socket import CONTROL_SOCKET, ask
from kube.client import Client
from kube.resource import CONFIG_MAPS, NODES, Object
from kube.transport import Transport
from tests.cli.command import PARAMEDIC
from tests.devcluster import short_story
from tests.devcluster.processes import gone, runs
from tests.forked import Forked, fork, run

pytestmark = pytest.mark.timeout(240)  # whoever asks first waits for a whole story

PATIENCE = timedelta(seconds=120)
SERVERS = {"temporal", "etcd", "control_plane", "manager"}
OURS = {"detector", "worker"}
SIMULATED = {"kubelets", "remediator", "machine_set"}
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


@asynccontextmanager
async def demo(directory: Path, *arguments: str) -> AsyncIterator[Demo]:
    """A running `paramedic demo`, killed at the end if it still runs."""
    said = directory / "said"
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
    """Where all of it runs; pytest's own directory may be too long for a socket."""
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


async def told(scenario: Scenario, directory: Path, first: Demo) -> str:
    """What is said where a story is told on the servers of the first."""
    settings, said = DemoSettings(directory, stay=True, scenario=scenario), io.StringIO()
    async with environment(first.dev, settings) as ready:
        await SCENARIOS[scenario].play(ready, Narrator(Console(file=said)))
    return said.getvalue()


@pytest.mark.cluster
async def test_story_of_an_upgrade_is_told_to_its_end_where_that_of_machines_was(
    directory: Path, first: Demo
) -> None:
    assert SCENARIOS[Scenario.UPGRADE].dev_arguments == SCENARIOS[Scenario.MACHINE].dev_arguments
    said = await told(Scenario.UPGRADE, directory, first)
    assert "The cluster was upgraded, no node was shot, and nothing is left behind." in said


@pytest.mark.cluster
async def test_story_of_a_node_is_told_to_its_end_where_machines_have_nodes_too(
    directory: Path, first: Demo
) -> None:
    for number in range(fixtures.NODES - fixtures.MACHINES):
        await ask(directory / CONTROL_SOCKET, {"add": f"other-{number}"})
    said = await told(Scenario.NODE, directory, first)
    assert said.count(ENDED_WELL) == 1
    assert "after it hung, and nothing is left behind." in said


@asynccontextmanager
async def demo_of_a_short_story(directory: Path) -> AsyncIterator[tuple[Forked, Path]]:
    """And what it has said; killed at the end if it still runs."""
    said = directory / "said-of-a-short-story"
    with said.open("wb") as file:
        arguments, out = ("demo", "--dir", str(directory)), file.fileno()
        process = fork("paramedic", arguments, os.environ, out=out, err=out, entry=short_story.run)
    try:
        yield process, said
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.cluster
async def test_one_that_is_killed_leaves_no_process_and_the_next_one_goes_on_and_ends_in_order(
    directory: Path, first: Demo
) -> None:
    """On its data, at its addresses, with its credentials."""
    before = description(directory)
    async with admin(before) as client:
        kept: Object = {"metadata": {"name": short_story.KEPT}}
        await client.create(CONFIG_MAPS, kept, short_story.NAMESPACE)
    await (await temporal_of(before)).start_workflow("Nobody", id="kept", task_queue="nobody")
    first.process.kill()
    for pid in before["pids"].values():
        await gone(pid)
    (directory / "dev.json").unlink()
    async with demo_of_a_short_story(directory) as (second, said):
        again = await described(directory, second)
        others: dict[str, Any] = {"pids": {}, "ready_urls": {}}
        assert again | others == before | others
        assert set(again["pids"]) == SERVERS | SIMULATED - {"machine_set"}
        workflow = await (await temporal_of(again)).get_workflow_handle("kept").describe()
        assert workflow.workflow_type == "Nobody"
        async with admin(again) as client:
            nodes = {node["metadata"]["name"] for node in await client.list(NODES)}
            await client.delete(CONFIG_MAPS, short_story.KEPT, short_story.NAMESPACE)
        assert nodes >= {f"node-{number}" for number in range(1, fixtures.NODES + 1)}

        assert await asyncio.wait_for(second.wait(), PATIENCE.total_seconds()) == 0, said.read_text()
        assert said.read_text().count(GOES_AFTERWARDS) == 1
        assert not any(map(runs, again["pids"].values()))
        assert not description(directory)


async def described(directory: Path, running: Forked) -> dict[str, Any]:
    """What runs, once it is ready."""

    async def is_described() -> bool:
        assert running.returncode is None
        return bool(description(directory))

    await until(is_described, within=PATIENCE, otherwise="it is never ready")
    return description(directory)


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
