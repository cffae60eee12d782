"""Encrypted payloads of incidents in Temporal, as seen with the key and without it."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.query.v1 import WorkflowQuery
from temporalio.api.workflowservice.v1 import QueryWorkflowRequest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from devcluster.temporal import TemporalServer
from health.model.moves import Phase
from health.runbook.orders import HoldOrder
from runtime.payload_codec import ENCRYPTED, PayloadKeys, with_keys
from tests.support.cluster.command import Command
from tests.support.story.fleet import Fleet
from tests.support.values.observations import expired
from tests.support.values.payload_keys import LAST_YEAR, THIS_YEAR, keys_file, read
from workflows.contracts import ACT, ActInput, ActResult

VARIABLE = "PARAMEDIC_PAYLOAD_KEYS_FILE"
NODE, REASON = "node-of-the-bank", "disk of node-of-the-bank"


class Refused(Fleet):
    """One whose API server refuses requests, in words about the node."""

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        raise ApplicationError(f"no request for {act.incident.target.name}", type="Forbidden")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return keys_file(tmp_path / "keys", THIS_YEAR, LAST_YEAR)


async def client(server: TemporalServer, keys: PayloadKeys) -> Client:
    return await Client.connect(server.address, namespace=server.namespace, data_converter=with_keys(keys))


@pytest.fixture
async def fleet(temporal_server: TemporalServer, keys: Path) -> AsyncIterator[Fleet]:
    fleet = Refused(await client(temporal_server, read(keys)), f"c{uuid.uuid4().hex[:6]}-1a2b")
    async with fleet.at_work():
        yield fleet
    await fleet.end()


def readable(message: Message, words: str, path: str = "") -> Iterator[str]:
    """The fields in which `words` can be read."""
    for field, value in message.ListFields():
        for item in _values(field.is_repeated, value):
            place = f"{path}.{field.name}".removeprefix(".")
            if isinstance(item, Message):
                yield from readable(item, words, place)
            elif words in (item.decode(errors="replace") if isinstance(item, bytes) else str(item)):
                yield place


def _values(is_repeated: bool, value: Any) -> list[Any]:  # noqa: FBT001  as protobuf says it
    if not is_repeated:
        return [value]
    return list(value.values()) if hasattr(value, "values") else list(value)


async def test_temporal_keeps_of_a_node_its_name_in_ids_and_search_attributes_and_nothing_else(
    fleet: Fleet, temporal_server: TemporalServer, keys: Path
) -> None:
    paramedic = command(temporal_server, keys)
    await fleet.fail(NODE, expired())
    await fleet.reaches(NODE, Phase.HELD)
    await fleet.listed("Running", 1)
    ordered = await paramedic("hold", NODE, "--cluster", fleet.cluster, "--reason", REASON)
    assert ordered.out.endswith(f"keeps what exists: {REASON}; until resume or its recovery\n")
    await fleet.handle(NODE).signal("hold", HoldOrder(reason=REASON))

    without = await client(temporal_server, PayloadKeys.read(None))
    handle = without.get_workflow_handle(fleet.incident(NODE).workflow_id)
    history = await handle.fetch_history()
    found = {place for event in history.events for place in readable(event, NODE)}
    assert found == {
        "workflow_execution_started_event_attributes.workflow_id",
        "workflow_execution_started_event_attributes.search_attributes.indexed_fields.data",
    }
    described = (await handle.describe()).raw_description
    assert set(readable(described, NODE)) == {
        "workflow_execution_info.execution.workflow_id",
        "workflow_execution_info.root_execution.workflow_id",
        "workflow_execution_info.search_attributes.indexed_fields.data",
    }

    for asked in ("state", "__temporal_workflow_metadata"):  # the latter has the current details
        answer = await without.workflow_service.query_workflow(
            QueryWorkflowRequest(
                namespace=without.namespace,
                execution=WorkflowExecution(workflow_id=handle.id),
                query=WorkflowQuery(query_type=asked),
            )
        )
        assert [payload.metadata["encoding"] for payload in answer.query_result.payloads] == [ENCRYPTED]


async def test_with_the_key_people_see_all_and_without_it_what_is_missing(
    fleet: Fleet, temporal_server: TemporalServer, keys: Path, tmp_path: Path
) -> None:
    await fleet.fail(NODE, expired())
    await fleet.reaches(NODE, Phase.HELD)
    await fleet.listed("Running", 1)
    named = (NODE, "--cluster", fleet.cluster)
    page = await command(temporal_server, keys)("show", *named)
    assert f"no request for {NODE}" in page.out

    for lacking, why in (
        (command(temporal_server, None), f"and {VARIABLE} is not set"),
        (
            command(temporal_server, keys_file(tmp_path / "other", LAST_YEAR)),
            f"which the file of {VARIABLE} lacks",
        ),
    ):
        sentence = f"a payload in Temporal is encrypted with the key '2026', {why}"
        (listed,) = (await lacking("list", "--cluster", fleet.cluster, "-o", "json")).json["incidents"]
        assert (listed["target"], listed["phase"], listed["problem"]) == (f"Node/{NODE}", None, sentence)
        assert sentence in (await lacking("show", *named)).out
        refused = await lacking("hold", *named, "--reason", REASON)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == f"paramedic: {sentence}; nothing was ordered\n"
    assert (await fleet.state(NODE)).memory.held is None


def command(server: TemporalServer, keys: Path | None) -> Command:
    environment = server.environment
    return Command(environment | ({VARIABLE: str(keys)} if keys else {}))
