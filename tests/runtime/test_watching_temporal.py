"""A Temporal namespace that lost a search attribute of ours is noticed while a process runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, RemoveSearchAttributesRequest
from temporalio.client import Client

from runtime import search_attributes
from runtime.problems import Problems
from runtime.temporal_link import TemporalLink
from tests.support.api.eventually import eventually
from tests.support.cluster.temporal_servers import temporal_server
from workflows.messages import ATTEMPT


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client of a server of its own, that is set up, and that of the environment."""
    async with temporal_server(tmp_path) as server:
        monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
        monkeypatch.setenv("TEMPORAL_NAMESPACE", server.namespace)
        client = await Client.connect(server.address, namespace=server.namespace)
        await search_attributes.register(client, server.namespace)
        yield client


async def test_missing_search_attribute_is_a_problem_until_it_is_back_and_one_of_another_type_is_refused(
    client: Client,
) -> None:
    problems = Problems()
    watching = asyncio.create_task(TemporalLink("a process", problems).hold())

    await remove(client)
    await eventually(lambda: bool(problems.sentences), 20)
    (sentence,) = problems.sentences
    assert sentence == (
        "search attributes: namespace paramedic lacks the search attributes ParamedicAttempt: "
        "run `paramedic setup`"
    )

    added = await search_attributes.register(client, client.namespace)
    assert added == ("ParamedicAttempt",)
    await eventually(lambda: not problems.sentences, 20)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching

    await replace_by_a_keyword(client)
    with pytest.raises(search_attributes.SearchAttributeConflict, match="ParamedicAttempt is no Int in"):
        await search_attributes.missing(client, client.namespace)


async def remove(client: Client) -> None:
    await client.operator_service.remove_search_attributes(
        RemoveSearchAttributesRequest(namespace=client.namespace, search_attributes=[ATTEMPT.name])
    )


async def replace_by_a_keyword(client: Client) -> None:
    await remove(client)
    types = {ATTEMPT.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=types)
    )
