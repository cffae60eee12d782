"""A detector takes the lead without visibility: it still starts and answers incidents.

Only the number of earlier remediations of a target is unknown without visibility queries.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, NoReturn

import pytest
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionCount
from temporalio.service import RPCError, RPCStatusCode

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.end_to_end.detectors import Detectors
from tests.support.story.escalation import Escalation
from tests.support.story.paramedic import Paramedic
from tests.support.story.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 14", "rule 3")]


class Visibility:
    """Answers visibility queries of the detector; during an outage each query hangs and then fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, of_the_test: Client) -> None:
        self.is_away = True
        lists, counts = Client.list_workflows, Client.count_workflows

        def is_away(client: Client) -> bool:
            return self.is_away and client is not of_the_test

        async def no_answer() -> NoReturn:
            await asyncio.sleep(5)
            raise RPCError("Timeout expired", RPCStatusCode.DEADLINE_EXCEEDED, b"")

        async def none() -> AsyncIterator[WorkflowExecution]:
            yield await no_answer()

        async def counted(client: Client, query: str | None = None, **options: Any) -> WorkflowExecutionCount:
            return await (no_answer() if is_away(client) else counts(client, query, **options))

        def listed(
            client: Client, query: str | None = None, **options: Any
        ) -> AsyncIterator[WorkflowExecution]:
            return none() if is_away(client) else lists(client, query, **options)

        monkeypatch.setattr(Client, "list_workflows", listed)
        monkeypatch.setattr(Client, "count_workflows", counted)


async def test_incidents_are_started_and_answered_and_back_off_alone_is_held(
    world: World,
    paramedic: Paramedic,
    control_plane: ControlPlane,
    temporal_server: TemporalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal_server.address)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", temporal_server.namespace)
    visibility = Visibility(monkeypatch, world.temporal)
    (node,) = await world.add_nodes(1)
    # The first failure of a young node asks for the incidents of its name, where steps follow each other.
    await Escalation(world).add("first", "second")
    await world.fail(node)
    await paramedic.worker.start_ready()
    async with Detectors(world, control_plane).running("alone", back_off_limit=timedelta(minutes=30)):
        await world.until_phase(node, "Held")
        assert "BackOff: earlier remediations were not read yet" in (await world.state(node)).details

        await world.recover(node)
        assert await world.outcome(node) == "Recovered"
        await world.fail(node)
        await world.until_phase(node, "Held")
        visibility.is_away = False
        await world.until_requested(node)


async def test_detector_that_has_watched_for_twice_the_limit_waits_for_no_list(
    world: World,
    paramedic: Paramedic,
    control_plane: ControlPlane,
    temporal_server: TemporalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal_server.address)
    monkeypatch.setenv("TEMPORAL_NAMESPACE", temporal_server.namespace)
    Visibility(monkeypatch, world.temporal)
    (node,) = await world.add_nodes(1)
    await world.add_check()
    await world.fail(node)
    await paramedic.worker.start_ready()
    async with Detectors(world, control_plane).running("alone", back_off_limit=timedelta(seconds=1)):
        await world.until_requested(node)
