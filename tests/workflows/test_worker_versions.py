"""Worker Versioning on a real Temporal server: the build that runs an incident, and the findings of doctor.

An incident is pinned to the build that began it, through a roll-out and a roll-back. The queue of the
detector has only activities and no version.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from temporalio.common import SearchAttributeKey

from cli.doctor.temporal import temporal_findings
from devcluster import programs
from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from tests.support.cluster.temporal_servers import client_of
from tests.support.page_commands import page_commands
from tests.support.story.fleet import Fleet, fleet_of
from tests.support.values.observations import expired, healthy, held
from worker.worker import BUILD_VARIABLE, DEPLOYMENT_VARIABLE, worker_version

pytestmark = pytest.mark.timeout(120)

RAN_ON = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
PAGE = [command for command in page_commands("temporal") if command.page == "docs/rolling-out.md"]
DEPLOYMENT_OF_PAGE = "paramedic-prod"
OF_TESTS = ("--ignore-missing-task-queues", "--yes")
"""Workers of a test may have stopped polling, and a person confirms each change of a version."""
PATIENCE_SECONDS, POLL_SECONDS = 30, 0.1


class VersionedFleet:
    """A fleet whose workers are of several builds of one deployment."""

    def __init__(self, fleet: Fleet, server: TemporalServer) -> None:
        self.fleet = fleet
        self.deployment = f"paramedic-{fleet.cluster}"
        self._server = server

    @asynccontextmanager
    async def worker(self, build: str) -> AsyncIterator[None]:
        """A worker of that build; without a build it is unversioned."""
        environment = {DEPLOYMENT_VARIABLE: self.deployment, BUILD_VARIABLE: build} if build else {}
        async with self.fleet.worker(await client_of(self._server), worker_version(environment)):
            yield

    async def make_current(self, build: str) -> None:
        """Let new workflows start on that build; "" means unversioned workers."""
        named = ("--build-id", build) if build else ("--unversioned",)
        await self._run_when_known("set-current-version", *named)

    async def ramp(self, build: str, percentage: float) -> None:
        await self._run_when_known(
            "set-ramping-version", "--build-id", build, "--percentage", str(percentage)
        )

    async def _run_when_known(self, name: str, *options: str) -> None:
        """Retry until Temporal knows the version, which its first poll registers."""
        command = ("worker", "deployment", name, "--deployment-name", self.deployment, *options, *OF_TESTS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await self.run(*command))[0] != 0:  # noqa: ASYNC110  the command is all there is
                await asyncio.sleep(POLL_SECONDS)

    async def run_of_page(self, beginning: str) -> str:
        """Run the command of docs/rolling-out.md that begins so, for this deployment; returns its output."""
        [text] = [command.text for command in PAGE if command.text.startswith(beginning)]
        words = shlex.split(text.replace(DEPLOYMENT_OF_PAGE, self.deployment))[1:]
        status, output = await self.run(*words)
        assert status == 0, output
        return output

    async def page_prints(self, beginning: str, word: str) -> None:
        """Return when the command of the page prints this word."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while word not in await self.run_of_page(beginning):  # noqa: ASYNC110  as above
                await asyncio.sleep(POLL_SECONDS)

    async def run(self, *words: str) -> tuple[int, str]:
        """Run the `temporal` command against the server; returns its exit code and output."""
        process = await asyncio.create_subprocess_exec(
            programs.temporal(),
            *words,
            env=os.environ | self._server.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate(b"y\n")
        return process.returncode or 0, output.decode()

    async def begins_on(self, node: str, build: str) -> None:
        """An incident of that node begins on that build, and its check holds it."""
        await self.fleet.fail(node, held())
        await self.fleet.reaches(node, Phase.HELD)
        assert await self.ran_on(node) == build

    async def ends_on(self, node: str, build: str) -> None:
        """It continues with its act on that build, and ends."""
        await self.fleet.see(node, expired())
        await self.fleet.reaches(node, Phase.REMEDIATING)
        assert await self.ran_on(node) == build
        await self.fleet.see(node, healthy())
        await asyncio.wait_for(self.fleet.handle(node).result(), PATIENCE_SECONDS)

    async def ran_on(self, node: str) -> str:
        """The build of its last workflow task; "" means an unversioned one."""
        described = await self.fleet.handle(node).describe()
        return (described.typed_search_attributes.get(RAN_ON) or "").partition(":")[2]

    async def findings(self, *reasons: str) -> None:
        """Wait until doctor has exactly these findings about workers."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = await temporal_findings(self._server.environment, (self.fleet.cluster,))
                if {version.reason for version in found} == set(reasons):
                    return
                await asyncio.sleep(POLL_SECONDS)


@pytest.fixture
async def versioned(temporal_server: TemporalServer) -> AsyncIterator[VersionedFleet]:
    async with fleet_of(temporal_server) as fleet, fleet.detecting():
        yield VersionedFleet(fleet, temporal_server)


async def test_incident_ends_on_the_build_that_began_it_through_a_roll_out_and_a_roll_back(
    versioned: VersionedFleet,
) -> None:
    async with versioned.worker("a"):
        await versioned.make_current("a")
        await versioned.begins_on("node-1", "a")
        await versioned.findings()
        async with versioned.worker("b"):
            await versioned.make_current("b")
            await versioned.begins_on("node-2", "b")
            await versioned.ends_on("node-1", "a")

            await versioned.make_current("a")
            await versioned.begins_on("node-3", "a")
            await versioned.ends_on("node-2", "b")
            await versioned.ends_on("node-3", "a")


async def test_incident_of_a_version_without_a_worker_waits_for_one_of_that_version(
    versioned: VersionedFleet,
) -> None:
    async with versioned.worker("b"):
        async with versioned.worker("a"):
            await versioned.make_current("a")
            await versioned.begins_on("node-1", "a")
            await versioned.make_current("b")
        await versioned.fleet.see("node-1", expired())
        await versioned.begins_on("node-2", "b")
        assert "node-1" not in versioned.fleet.requests
        await versioned.ends_on("node-2", "b")
    async with versioned.worker("a"):
        await versioned.ends_on("node-1", "a")


async def test_version_that_ramps_up_takes_its_share(versioned: VersionedFleet) -> None:
    async with versioned.worker("a"), versioned.worker("b"):
        await versioned.make_current("a")
        await versioned.ramp("b", 100)
        await versioned.begins_on("node-1", "b")
        await versioned.ramp("b", 0)
        await versioned.begins_on("node-2", "a")
        await versioned.ends_on("node-1", "b")


async def test_versioning_is_turned_on_and_off_again_while_incidents_are_open(
    versioned: VersionedFleet,
) -> None:
    async with AsyncExitStack() as unversioned, versioned.worker("a"):
        await unversioned.enter_async_context(versioned.worker(""))
        await versioned.begins_on("node-1", "")

        await versioned.make_current("a")
        await versioned.begins_on("node-2", "a")
        await versioned.ends_on("node-1", "a")

        await versioned.make_current("")
        await versioned.begins_on("node-3", "")
        await versioned.ends_on("node-2", "a")
        await versioned.ends_on("node-3", "")


async def test_version_that_is_not_current_gets_no_task_and_doctor_says_so(
    versioned: VersionedFleet,
) -> None:
    async with versioned.worker("a"):
        await versioned.fleet.fail("node-1", held())
        await versioned.findings("NoWorker")
        await versioned.make_current("a")
        await versioned.fleet.reaches("node-1", Phase.HELD)
        await versioned.findings()


async def test_commands_of_the_page_roll_a_build_out_and_back_and_move_its_incidents(
    versioned: VersionedFleet,
) -> None:
    async with versioned.worker("0.1.0"):
        async with versioned.worker("0.2.0"):
            await versioned.make_current("0.1.0")
            await versioned.ramp("0.2.0", 10)
            await versioned.make_current("0.2.0")
            await versioned.begins_on("node-1", "0.2.0")
            await versioned.page_prints("temporal worker deployment describe-version", "draining")
            await versioned.make_current("0.1.0")
            await versioned.begins_on("node-2", "0.1.0")
        await versioned.run_of_page("temporal workflow update-options")
        await versioned.ends_on("node-1", "0.1.0")
