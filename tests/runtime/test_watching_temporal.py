"""A Temporal namespace that lost a search attribute of ours is noticed while a process runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, RemoveSearchAttributesRequest
from temporalio.client import Client

from runtime import search_attributes, temporal_link
from runtime.problems import Problems
from runtime.temporal_link import TemporalLink
from runtime.temporal_trouble import TemporalUnreachable
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


@pytest.mark.usefixtures("client")
async def test_search_attributes_are_read_once_and_again_after_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runtime.temporal_link.CHECK_EVERY_SECONDS", 0.01)
    asked: dict[str, int] = {"served": 0, "attributes": 0}
    failing: set[str] = set()
    answer, missing = temporal_link._answer, search_attributes.missing  # noqa: SLF001  no server counts them

    async def answered(client: Client) -> None:
        asked["served"] += 1
        if failing:
            failing.clear()
            raise TemporalUnreachable("it is away")
        await answer(client)

    async def read(client: Client, namespace: str, within: timedelta | None = None) -> tuple[str, ...]:
        asked["attributes"] += 1
        return await missing(client, namespace, within)

    monkeypatch.setattr(temporal_link, "_answer", answered)
    monkeypatch.setattr(search_attributes, "missing", read)
    watching = asyncio.create_task(TemporalLink("a process", Problems()).hold())
    await eventually(lambda: asked["served"] > 10, 20)
    assert asked["attributes"] == 1
    failing.add("once")
    await eventually(lambda: asked["attributes"] == 2, 20)
    served = asked["served"]
    await eventually(lambda: asked["served"] > served + 10, 20)
    assert asked["attributes"] == 2
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


async def test_missing_search_attribute_is_a_problem_until_it_is_back_and_one_of_another_type_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.temporal_link.CHECK_NAMESPACE_EVERY", timedelta(seconds=1))
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
