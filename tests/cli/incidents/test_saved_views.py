"""Each query of docs/temporal-ui.md is tried on a real Temporal server, as people enter it."""

import asyncio
import re
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.common import SearchAttributePair

from devcluster.manifests import ROOT
from devcluster.temporal import TemporalServer
from health.model.moves import Blocked
from health.model.references import IncidentReference
from runtime import search_attributes
from tests.support.cluster.temporal_servers import client_of
from tests.support.story.polling import PATIENCE_SECONDS
from tests.support.values.builders import incident_reference
from workflows.messages import ATTEMPT, ATTEMPT_ENDED, BLOCKED, WORKFLOW

PAGE = (ROOT / "docs" / "temporal-ui.md").read_text()
QUERIES = dict(re.findall(r"^\| ([^|]+) \| `((?:WorkflowType|Temporal)[^`]+)` \|$", PAGE, re.MULTILINE))
WHILE_OPEN = {
    "open",
    "one check",
    "one node",
    "one cluster",
    "acted, ended since a time",
    "repeated remediations",
    "open for long",
}
ONCE_TERMINATED = WHILE_OPEN - {"open", "open for long"} | {"ended since a time", "terminated by a person"}
BLOCKED_VIEWS = {
    "held": Blocked.HELD,
    "waiting for approval": Blocked.APPROVAL_REQUIRED,
    "exhausted": Blocked.EXHAUSTED,
    "left alone": Blocked.LEFT_ALONE,
}
PAST, FUTURE = "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
NOW = datetime(2026, 11, 24, tzinfo=UTC)


@pytest.fixture
async def client(temporal_server: TemporalServer) -> Client:
    client = await client_of(temporal_server)
    await search_attributes.register(client, client.namespace)
    return client


@pytest.fixture
async def incident(client: Client) -> IncidentReference:
    attempt = (SearchAttributePair(ATTEMPT, 2), SearchAttributePair(ATTEMPT_ENDED, NOW))
    return await started(client, *attempt)


async def started(client: Client, *attributes: SearchAttributePair[Any]) -> IncidentReference:
    """An open incident of a cluster of its own, which no worker serves."""
    reference = incident_reference(f"views-{uuid.uuid4().hex[:8]}", str(uuid.uuid4()))
    await client.start_workflow(
        WORKFLOW,
        id=reference.workflow_id,
        task_queue="no-worker",
        search_attributes=search_attributes.of_incident(reference).updated(*attributes),
    )
    return reference


async def found(client: Client, incident: IncidentReference) -> set[str]:
    return {view for view, query in QUERIES.items() if await shows(client, query, incident)}


async def shows(client: Client, query: str, incident: IncidentReference) -> bool:
    names = {"'CLUSTER'": f"'{incident.cluster}'", "/CHECK'": "/workers'", "/NODE'": "/node-1'"}
    for placeholder, name in names.items():
        query = query.replace(placeholder, name)
    query = re.sub(r"> '2026[^']+'", f"> '{PAST}'", query)
    query = re.sub(r"< '2026[^']+'", f"< '{FUTURE}'", query)
    counted = await client.count_workflows(f"{query} AND ParamedicCluster = '{incident.cluster}'")
    return counted.count == 1


async def until_found(client: Client, incident: IncidentReference, expected: set[str]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await found(client, incident) != expected:  # noqa: ASYNC110  Temporal writes its index later
            await asyncio.sleep(0.1)


async def test_views_show_an_incident_while_it_is_open_and_once_it_is_terminated(
    client: Client, incident: IncidentReference
) -> None:
    assert {"open", "one check", "failing code", "upgrade pauses"} < set(QUERIES)
    await until_found(client, incident, WHILE_OPEN)
    await client.get_workflow_handle(incident.workflow_id).terminate()
    await until_found(client, incident, ONCE_TERMINATED)


async def test_each_reason_to_do_nothing_has_a_view(client: Client) -> None:
    assert set(BLOCKED_VIEWS.values()) == set(Blocked)
    not_acted = WHILE_OPEN - {"acted, ended since a time", "repeated remediations"}
    for view, blocked in BLOCKED_VIEWS.items():
        incident = await started(client, SearchAttributePair(BLOCKED, blocked))
        await until_found(client, incident, not_acted | {view})
