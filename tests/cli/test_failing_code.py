"""Incidents whose workflow code fails, on a real Temporal server: the command, doctor and metric see them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionCount
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from cli.doctor.temporal import temporal_findings
from cli.shared.connection import RPC_TIMEOUT
from devcluster import programs
from health.model.moves import Phase
from runtime import search_attributes, task_failures
from runtime.payload_codec import PayloadKeys, with_keys
from tests.support.cluster.command import Command
from tests.support.story.fleet import POLL_SECONDS, Fleet
from tests.support.values.observations import expired
from tests.support.values.payload_keys import THIS_YEAR, keys_file, read
from workflows.contracts import worker_queue
from workflows.messages import WORKFLOW, RemediationInput
from workflows.upgrade_contracts import UPGRADE_PAUSE, UpgradePauseInput, upgrade_pause_id

REPORTED_AFTER = "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute"
"""How many failures in a row Temporal reports: by default five, which takes a minute; 0: none."""
GIVEN_UP_AFTER = 'history.defaultWorkflowTaskTimeout="2s"'
"""How long a worker keeps a task that failed before."""


@workflow.defn(name=WORKFLOW)
class Raising:
    """A version of the workflow with a mistake."""

    @workflow.run
    async def run(self, start: RemediationInput) -> None:
        raise RuntimeError(f"no rule for\n{start.incident.target.name}")


@workflow.defn(name=UPGRADE_PAUSE)
class RaisingPause:
    """A version of the other workflow with a mistake."""

    @workflow.run
    async def run(self, start: UpgradePauseInput) -> None:
        raise RuntimeError(f"no pause for {start.cluster}")


@workflow.defn(name=WORKFLOW)
class Otherwise:
    """A version of the workflow that does other things than the history says."""

    @workflow.run
    async def run(self, start: RemediationInput) -> None:  # noqa: ARG002  it is only another one
        await workflow.wait_condition(lambda: False)

    @workflow.signal
    def look(self) -> None: ...


@asynccontextmanager
async def temporal_that_reports(after: int) -> AsyncIterator[Client]:
    values = (f"{REPORTED_AFTER}={after}", GIVEN_UP_AFTER)
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(programs.temporal()),
        dev_server_extra_args=[part for value in values for part in ("--dynamic-config-value", value)],
        data_converter=pydantic_data_converter,
    ) as environment:
        await search_attributes.register(environment.client, environment.client.namespace)
        yield environment.client


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[Client]:
    """A server that reports the first failure of a workflow task."""
    async with temporal_that_reports(after=1) as client:
        yield client


@pytest.fixture
async def fleet(server: Client) -> AsyncIterator[Fleet]:
    fleet = Fleet(server, f"c{uuid.uuid4().hex[:6]}-1a2b3c4d")
    yield fleet
    await fleet.end()


def environment_of(client: Client) -> dict[str, str]:
    address = client.service_client.config.target_host
    return {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": client.namespace}


@pytest.fixture
def paramedic(server: Client) -> Command:
    return Command(environment_of(server))


@asynccontextmanager
async def worker(fleet: Fleet, version: type) -> AsyncIterator[None]:
    async with Worker(
        fleet.client,
        task_queue=worker_queue(fleet.cluster),
        workflows=[version],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield


async def failing(fleet: Fleet, count: int, of_type: str = WORKFLOW) -> None:
    async def reported() -> int:
        return (await task_failures.counts(fleet.client, fleet.cluster, RPC_TIMEOUT)).get(of_type, 0)

    while await reported() != count:  # noqa: ASYNC110  its lists are all there is
        await asyncio.sleep(POLL_SECONDS)


async def test_idle_cluster_is_counted_by_one_query(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []
    count = fleet.client.count_workflows

    async def counted(query: str, **options: Any) -> WorkflowExecutionCount:
        queries.append(query)
        return await count(query, **options)

    monkeypatch.setattr(fleet.client, "count_workflows", counted)
    counts = await task_failures.counts(fleet.client, fleet.cluster, RPC_TIMEOUT)
    assert counts == dict.fromkeys(task_failures.EVERY_WORKFLOW, 0)
    assert len(queries) == 1


async def test_code_that_raises_is_reported_by_list_show_doctor_and_metric(
    fleet: Fleet, paramedic: Command
) -> None:
    async with worker(fleet, Raising):
        for node in ("node-1", "node-2"):
            await fleet.fail(node, expired())
        await failing(fleet, 2)
        listed = (await paramedic("list", "--cluster", fleet.cluster, "-o", "json")).json["incidents"]
        shown = await paramedic("show", "node-1", "--cluster", fleet.cluster)
        found = await temporal_findings(environment_of(fleet.client), (fleet.cluster,))

    problems = {incident["target"]: incident["problem"] for incident in listed}
    assert set(problems) == {"Node/node-1", "Node/node-2"}
    for target, words in problems.items():
        assert words.startswith("its code fails since 20")
        assert words.endswith(f"Z: RuntimeError: no rule for {target.removeprefix('Node/')}")
    assert problems["Node/node-1"] in shown.out
    (finding,) = found
    assert finding.reason == "CodeFails"
    assert finding.what.startswith(f"the code of 2 workflows fails: remediation/{fleet.cluster}/")
    assert problems["Node/node-1"] in finding.what


async def test_pause_whose_code_fails_is_reported_by_upgrade_doctor_and_metric(
    fleet: Fleet, paramedic: Command
) -> None:
    async with worker(fleet, RaisingPause):
        pause = await fleet.client.start_workflow(
            UPGRADE_PAUSE,
            UpgradePauseInput(cluster=fleet.cluster),
            id=upgrade_pause_id(fleet.cluster),
            task_queue=worker_queue(fleet.cluster),
            search_attributes=search_attributes.of_cluster(fleet.cluster),
        )
        await failing(fleet, 1, UPGRADE_PAUSE)
        told = (await paramedic("upgrade", "--cluster", fleet.cluster)).out
        (found,) = await temporal_findings(environment_of(fleet.client), (fleet.cluster,))
        await pause.terminate()

    assert f"RuntimeError: no pause for {fleet.cluster}" in told
    assert found.what.startswith(f"the code of 1 workflow fails: {pause.id} (its code fails since 20")
    assert "checks that an upgrade has paused stay paused" in found.advice


async def test_code_that_does_not_fit_its_history_is_reported_until_a_worker_goes_on(
    fleet: Fleet, paramedic: Command
) -> None:
    async with fleet.at_work():
        await fleet.fail("node-1", expired())
        await fleet.reaches("node-1", Phase.REMEDIATING)
    async with worker(fleet, Otherwise):
        await fleet.see("node-1", expired())
        await failing(fleet, 1)
        shown = await paramedic("show", "node-1", "--cluster", fleet.cluster, "-o", "json")
        ordered = await paramedic("abort", "node-1", "--cluster", fleet.cluster)
    assert "[TMPRL1100] Nondeterminism error" in shown.json["problem"]
    assert "its code fails since" in ordered.out
    assert "Temporal keeps the order; the incident gets it as soon as a worker goes on" in ordered.out

    async with fleet.at_work():
        await failing(fleet, 0)
        await fleet.reaches("node-1", Phase.LEFT_ALONE)
        assert await temporal_findings(environment_of(fleet.client), (fleet.cluster,)) == []


async def test_code_that_fails_is_reported_by_the_incident_where_temporal_reports_nothing() -> None:
    async with temporal_that_reports(after=0) as client:
        fleet = Fleet(client, "unreported-1a2b3c4d")
        async with worker(fleet, Raising):
            await fleet.fail("node-1", expired())
            await fleet.listed("Running", 1)
            shown = await Command(environment_of(client))("show", "node-1", "-o", "json")
            assert await temporal_findings(environment_of(client), (fleet.cluster,)) == []
        assert shown.json["problem"].endswith("RuntimeError: no rule for node-1")
        assert await task_failures.counts(client, fleet.cluster, RPC_TIMEOUT) == {}


async def test_worker_without_the_key_loses_nothing_and_says_which_it_lacks(
    server: Client, tmp_path: Path
) -> None:
    file = keys_file(tmp_path / "keys", THIS_YEAR)
    keyless, key = with_keys(PayloadKeys.read(None)), with_keys(read(file))
    config = server.config()
    client = Client(**(config | {"data_converter": key}))
    fleet = Fleet(client, f"c{uuid.uuid4().hex[:6]}-1a2b3c4d")
    await fleet.fail("node-1", expired())
    fleet.client = Client(**(config | {"data_converter": keyless}))
    async with fleet.at_work():
        await failing(fleet, 1)
        (listed,) = (
            await Command(environment_of(server))("list", "--cluster", fleet.cluster, "-o", "json")
        ).json["incidents"]
        (found,) = await temporal_findings(environment_of(server), (fleet.cluster,))
    lacking = "encrypted with the key '2026', and PARAMEDIC_PAYLOAD_KEYS_FILE is not set"
    assert listed["problem"] == f"a payload in Temporal is {lacking}"
    assert f"UnreadablePayload: a payload in Temporal is {lacking}" in found.what

    fleet.client = client
    async with fleet.at_work():
        await fleet.reaches("node-1", Phase.REMEDIATING)
    await fleet.end()
