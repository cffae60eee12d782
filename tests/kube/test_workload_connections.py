"""Connections to workload clusters follow the Secret that has their kubeconfig, and show nothing of it."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kube.client import Client
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.errors import Forbidden, KubernetesError, NotConfigured, ServerFault, Unauthorized, Unreachable
from kube.resource import NODES
from kube.transport import Transport
from kube.workload_kubeconfig import WorkloadKubeconfig, parse_workload_kubeconfig
from objects.clusters import SecretField
from tests.support.api.api_server import ApiServer, hanging, lines, refused, said
from tests.support.api.eventually import eventually
from tests.support.api.kubeconfigs import (
    EAST,
    SECRET,
    SECRET_PATH,
    TOKEN,
    Pair,
    encoded,
    kubeconfig,
    secret_of,
)

NODE = NODES.path(name="node-1")
SLOW = NODES.path(name="slow")
ANSWER = said({"metadata": {"name": "node-1"}})
REFUSED = refused(401, "Unauthorized")
NEW_TOKEN = "token-after-the-rotation"


@dataclass
class East:
    """The workload cluster, and what of it is in the management cluster."""

    management: ApiServer
    server: ApiServer
    pair: Pair
    """Of the server, and its own authority."""
    admin: Pair

    def kubeconfig(self, **user: str) -> dict[str, Any]:
        content = kubeconfig(f"https://127.0.0.1:{self.server.port}", **user)
        content["clusters"][0]["cluster"]["certificate-authority-data"] = encoded(self.pair.certificate)
        return content

    def secrets(self, *contents: object) -> None:
        """The content of the Secret in consecutive reads."""
        self.management.answer("GET", SECRET_PATH, *(said(secret_of(content)) for content in contents))

    @property
    def tokens(self) -> list[str]:
        return [asked.headers.get("Authorization", "") for asked in self.server.asked]

    @property
    def readings(self) -> int:
        return sum(asked.path == SECRET_PATH for asked in self.management.asked)


@pytest.fixture
async def east(server: ApiServer, tmp_path: Path) -> AsyncIterator[East]:
    pair, admin = Pair.make(tmp_path / "pair", "east"), Pair.make(tmp_path / "admin", "east-admin")
    (tmp_path / "east").mkdir()
    async with ApiServer(tmp_path / "east", pair.serving(admin, pair)) as running:
        running.answer("GET", NODE, ANSWER)
        yield East(server, running, pair, admin)


@pytest.fixture
async def connections(client: Client) -> AsyncIterator[WorkloadConnections]:
    async with WorkloadConnections(client, grace=timedelta(milliseconds=50)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def nothing_secret_is_logged(caplog: pytest.LogCaptureFixture, east: East) -> Iterator[None]:
    """Not even by a library, at its lowest level, nor by asyncio of a task that was slow."""
    caplog.set_level(logging.DEBUG)
    yield
    key = east.admin.key.splitlines()[1]
    for secret in (TOKEN, NEW_TOKEN, key, encoded(east.admin.key)[40:80]):
        assert secret not in caplog.text


async def node_of(connection: ClusterConnection) -> object:
    return await connection.client.get(NODES, "node-1")


def shown(error: BaseException) -> str:
    """All that the error and what caused it say."""
    causes = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(repr(cause) + str(cause))
        cause = cause.__cause__ or cause.__context__
    return "\n".join(causes)


async def test_requests_are_made_with_the_token_of_the_secret(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    connection = await connections.connect(EAST, SECRET)
    assert connection.cluster == EAST
    assert await node_of(connection)
    assert east.tokens == [f"Bearer {TOKEN}"]


async def test_requests_are_made_with_the_client_certificate_of_the_secret(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(**east.admin.user))
    assert await node_of(await connections.connect(EAST, SECRET))
    [asked] = east.server.asked
    assert asked.client == "east-admin"
    assert "Authorization" not in asked.headers


@pytest.mark.rule("rule 33/service")
async def test_service_of_the_secrets_namespace_is_called_and_must_have_the_name_as_written(
    east: East, connections: WorkloadConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def cluster_dns(host: str, *rest: Any, **named: Any) -> object:
        return resolve("127.0.0.1" if host == "kube-apiserver.fleet.svc" else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", cluster_dns)
    content = east.kubeconfig()
    of_cluster = content["clusters"][0]["cluster"]
    of_cluster["server"] = f"https://kube-apiserver:{east.server.port}"
    named = deepcopy(content)
    named["clusters"][0]["cluster"]["tls-server-name"] = "localhost"
    east.secrets(content, named)
    with pytest.raises(Unreachable, match="certificate is not valid for 'kube-apiserver'"):
        await node_of(await connections.connect(EAST, SECRET))
    assert await node_of(await connections.connect(EAST, SECRET)), "the certificate is for localhost"


async def test_each_call_reads_the_secret_and_the_connection_stays_while_it_says_the_same(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    first = await connections.connect(EAST, SECRET)
    assert await connections.connect(EAST, SECRET) is first
    assert east.readings == 2


async def test_unused_connection_is_closed(east: East, client: Client) -> None:
    unasked, at_once = timedelta(milliseconds=200), timedelta(0)
    east.secrets(east.kubeconfig())
    async with WorkloadConnections(client, grace=at_once, unasked=unasked) as connections:
        left = await connections.connect("west", SECRET)
        used = await connections.connect(EAST, SECRET)
        async with asyncio.timeout(60):
            while not left.transport.is_closed:
                assert await connections.connect(EAST, SECRET) is used
        assert not used.transport.is_closed
        again = await connections.connect("west", SECRET)
        assert again is not left
        assert await node_of(again)


async def test_callers_that_come_together_share_one_reading_and_one_connection(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    connected = await asyncio.gather(*(connections.connect(EAST, SECRET) for _ in range(50)))
    assert len({id(connection) for connection in connected}) == 1
    assert east.readings == 1


@pytest.mark.rule("rule 33/rotated")
async def test_new_token_is_taken_over_by_the_open_connection(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(), east.kubeconfig(token=NEW_TOKEN))
    first = await connections.connect(EAST, SECRET)
    await node_of(first)
    assert await connections.connect(EAST, SECRET) is first
    await node_of(first)
    assert east.tokens == [f"Bearer {TOKEN}", f"Bearer {NEW_TOKEN}"]


async def test_refused_token_is_read_anew_and_no_request_is_lost(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(), east.kubeconfig(token=NEW_TOKEN))
    other = NODES.path(name="node-2")
    east.server.answer("GET", other, REFUSED, ANSWER)
    connection = await connections.connect(EAST, SECRET)
    assert await connection.client.get(NODES, "node-2")
    assert east.tokens == [f"Bearer {TOKEN}", f"Bearer {NEW_TOKEN}"]
    assert await connections.connect(EAST, SECRET) is connection


async def test_token_that_stays_refused_is_an_error_that_does_not_show_it(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    other = NODES.path(name="node-2")
    east.server.answer("GET", other, REFUSED)
    connection = await connections.connect(EAST, SECRET)
    with pytest.raises(Unauthorized) as caught:
        await connection.client.get(NODES, "node-2")
    assert TOKEN not in shown(caught.value)


async def test_refused_credentials_of_a_secret_that_names_another_server_by_now_ask_to_connect_anew(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(), kubeconfig())
    other = NODES.path(name="node-2")
    east.server.answer("GET", other, REFUSED)
    connection = await connections.connect(EAST, SECRET)
    with pytest.raises(Unreachable) as caught:
        await connection.client.get(NODES, "node-2")
    assert caught.value.message == f"The kubeconfig in {SECRET} has changed: connect again."
    assert TOKEN not in shown(caught.value)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(refused(404, "NotFound", SECRET.name), NotConfigured, id="gone"),
        pytest.param(refused(403, "Forbidden"), Forbidden, id="forbidden"),
        pytest.param(refused(500, "InternalError"), ServerFault, id="fault"),
    ],
)
async def test_refused_credentials_whose_secret_cannot_be_read_never_say_that_the_node_is_gone(
    east: East, connections: WorkloadConnections, answer: Any, error: type[KubernetesError]
) -> None:
    east.secrets(east.kubeconfig())
    east.management.answer("GET", SECRET_PATH, answer)
    other = NODES.path(name="node-2")
    east.server.answer("GET", other, REFUSED)
    connection = await connections.connect(EAST, SECRET)
    with pytest.raises(error) as caught:
        await connection.client.get(NODES, "node-2")
    assert TOKEN not in shown(caught.value)


async def test_other_client_certificate_is_another_connection(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(**east.admin.user), east.kubeconfig(**east.pair.user))
    first = await connections.connect(EAST, SECRET)
    await node_of(first)
    second = await connections.connect(EAST, SECRET)
    await node_of(second)
    assert second is not first
    assert [asked.client for asked in east.server.asked] == ["east-admin", "east"]


async def test_other_server_is_another_connection(
    east: East, connections: WorkloadConnections, tmp_path: Path
) -> None:
    (tmp_path / "moved").mkdir()
    async with ApiServer(tmp_path / "moved", east.pair.serving()) as moved:
        moved.answer("GET", NODE, ANSWER)
        before = east.kubeconfig()
        here = replace(east, server=moved)
        east.secrets(before, here.kubeconfig())
        for _ in range(2):
            await node_of(await connections.connect(EAST, SECRET))
        assert (len(east.server.asked), len(moved.asked)) == (1, 1)


async def test_other_authority_is_another_connection_and_only_that_is_trusted(
    east: East, connections: WorkloadConnections
) -> None:
    other = east.kubeconfig()
    other["clusters"][0]["cluster"]["certificate-authority-data"] = encoded(east.admin.certificate)
    east.secrets(other, east.kubeconfig())
    untrusting = await connections.connect(EAST, SECRET)
    with pytest.raises(Unreachable, match="certificate verify failed") as caught:
        await node_of(untrusting)
    assert TOKEN not in shown(caught.value)
    assert not east.server.asked
    assert await node_of(await connections.connect(EAST, SECRET))


async def test_server_that_the_system_does_not_trust_is_refused_where_the_kubeconfig_has_no_authority(
    east: East, connections: WorkloadConnections
) -> None:
    without = east.kubeconfig()
    del without["clusters"][0]["cluster"]["certificate-authority-data"]
    east.secrets(without)
    with pytest.raises(Unreachable, match="certificate verify failed"):
        await node_of(await connections.connect(EAST, SECRET))


async def test_certificate_is_verified_for_the_name_that_the_kubeconfig_says(
    east: East, connections: WorkloadConnections
) -> None:
    named = east.kubeconfig()
    named["clusters"][0]["cluster"]["tls-server-name"] = "kubernetes.default"
    east.secrets(named)
    with pytest.raises(Unreachable, match=r"kubernetes\.default"):
        await node_of(await connections.connect(EAST, SECRET))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_makes_us_call_no_other_server(
    east: East, connections: WorkloadConnections, status: int
) -> None:
    elsewhere = f"http://127.0.0.1:{east.management.port}/internal"
    path = NODES.path(name="node-2")
    east.server.answer("GET", path, said({}, status, Location=elsewhere))
    east.management.answer("GET", "/internal", ANSWER)
    east.secrets(east.kubeconfig())
    transport = (await connections.connect(EAST, SECRET)).transport
    with pytest.raises(Unreachable, match=f"was answered {status}: redirects are not followed"):
        await transport.request("GET", path)
    with pytest.raises(Unreachable, match="redirects are not followed"):
        async with transport.stream(path, (), silence=timedelta(seconds=1)):
            pass
    assert [asked.path for asked in east.management.asked] == [SECRET_PATH]


async def test_replaced_connection_answers_what_was_asked_however_short_its_grace_and_takes_no_more_after_it(
    east: East, client: Client
) -> None:
    east.secrets(east.kubeconfig(), kubeconfig())
    grace_is_over = asyncio.Event()

    async def late(request: web.Request) -> web.StreamResponse:
        await grace_is_over.wait()
        return await ANSWER(request)

    east.server.answer("GET", SLOW, late)
    async with WorkloadConnections(client, grace=timedelta(0)) as connections:
        replaced = await connections.connect(EAST, SECRET)
        asked = asyncio.create_task(replaced.client.get(NODES, "slow"))
        await eventually(lambda: east.server.asked)
        assert await connections.connect(EAST, SECRET) is not replaced
        await eventually(lambda: replaced.transport.is_closed)
        with pytest.raises(Unreachable, match="the connection is closed"):
            await node_of(replaced)
        grace_is_over.set()
        assert await asked


async def test_refused_token_is_read_anew_and_sent_also_by_a_connection_that_was_replaced_meanwhile(
    east: East, client: Client
) -> None:
    east.secrets(east.kubeconfig(), kubeconfig(), east.kubeconfig(token=NEW_TOKEN))
    grace_is_over = asyncio.Event()

    async def refuse_late(request: web.Request) -> web.StreamResponse:
        await grace_is_over.wait()
        return await REFUSED(request)

    east.server.answer("GET", SLOW, refuse_late, ANSWER)
    async with WorkloadConnections(client, grace=timedelta(0)) as connections:
        replaced = await connections.connect(EAST, SECRET)
        asked = asyncio.create_task(replaced.client.get(NODES, "slow"))
        await eventually(lambda: east.server.asked)
        await connections.connect(EAST, SECRET)
        await eventually(lambda: replaced.transport.is_closed)
        grace_is_over.set()
        assert await asked
    assert east.tokens == [f"Bearer {TOKEN}", f"Bearer {NEW_TOKEN}"]


async def test_watch_of_a_replaced_connection_ends_after_its_grace(east: East, client: Client) -> None:
    east.secrets(east.kubeconfig(), kubeconfig())
    east.server.watch(NODES.path(), lines({"type": "BOOKMARK"}, then="silent"))
    async with WorkloadConnections(client, grace=timedelta(0)) as connections:
        replaced = (await connections.connect(EAST, SECRET)).transport
        async with replaced.stream(NODES.path(), [("watch", "1")], silence=timedelta(minutes=5)) as watched:
            assert await anext(watched)
            await connections.connect(EAST, SECRET)
            with pytest.raises(Unreachable):
                await anext(watched)


async def test_end_of_all_closes_each_connection_at_once_and_waits_for_no_grace(
    east: East, client: Client
) -> None:
    east.secrets(east.kubeconfig(), kubeconfig())
    async with WorkloadConnections(client, grace=timedelta(hours=1)) as connections:
        opened = [await connections.connect(EAST, SECRET) for _ in range(2)]
    assert all(connection.transport.is_closed for connection in opened)


async def test_closed_cluster_gets_a_new_connection_and_no_other_is_touched(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    east.server.answer("GET", NODES.path(name="slow"), hanging)
    closed, other = [await connections.connect(cluster, SECRET) for cluster in (EAST, "fleet/west")]
    waiting = asyncio.create_task(closed.client.get(NODES, "slow"))
    await eventually(lambda: bool(east.server.asked))
    await connections.close(EAST)
    with pytest.raises(Unreachable):
        await waiting
    assert await node_of(other)
    assert await node_of(await connections.connect(EAST, SECRET))
    await connections.close("fleet/nowhere")


@pytest.mark.rule("rule 33/credentials")
@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        pytest.param(
            refused(404, "NotFound", SECRET.name),
            NotConfigured,
            f"There is no kubeconfig in {SECRET}: GET {SECRET_PATH} was answered 404 NotFound: said NotFound",
            id="no Secret",
        ),
        pytest.param(
            refused(404, "NotFound"),
            NotConfigured,
            f"There is no kubeconfig in {SECRET}: GET {SECRET_PATH} was answered 404 NotFound: said NotFound",
            id="no Secrets",
        ),
        pytest.param(
            refused(403, "Forbidden"),
            Forbidden,
            f"GET {SECRET_PATH} was answered 403 Forbidden: said Forbidden",
            id="forbidden",
        ),
        pytest.param(
            said({"data": {"other": "hunter2"}}),
            NotConfigured,
            f"There is no kubeconfig in {SECRET}: it has no such key, or nothing in it.",
            id="another key",
        ),
        pytest.param(
            said({}),
            NotConfigured,
            f"There is no kubeconfig in {SECRET}: it has no such key, or nothing in it.",
            id="no data",
        ),
        pytest.param(
            said({"data": {"value": "hunter2!"}}),
            NotConfigured,
            f"The kubeconfig in {SECRET} cannot be used: it is no base64.",
            id="no base64",
        ),
        pytest.param(
            said(secret_of(f"token: [{TOKEN}\n")),
            NotConfigured,
            f"The kubeconfig in {SECRET} cannot be used: line 2 is not valid YAML.",
            id="no YAML",
        ),
        pytest.param(
            said(secret_of(kubeconfig(password=TOKEN))),
            NotConfigured,
            f"The kubeconfig in {SECRET} cannot be used: "
            "its user has password, and only a token and a client certificate are understood.",
            id="a field that is refused",
        ),
    ],
)
async def test_secret_that_cannot_be_read_or_used_is_said_and_what_is_in_it_is_not(
    east: East, connections: WorkloadConnections, answer: Any, error: type[KubernetesError], message: str
) -> None:
    east.management.answer("GET", SECRET_PATH, answer)
    with pytest.raises(error) as caught:
        await connections.connect(EAST, SECRET)
    assert caught.value.message == message
    assert TOKEN not in shown(caught.value)
    assert "hunter2" not in shown(caught.value)


async def test_connection_outlives_a_secret_that_cannot_be_used_for_a_while(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(), "nonsense", east.kubeconfig())
    first = await connections.connect(EAST, SECRET)
    with pytest.raises(NotConfigured):
        await connections.connect(EAST, SECRET)
    assert await connections.connect(EAST, SECRET) is first


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes | str]:
    """The contents that were parsed, in order."""
    contents: list[bytes | str] = []

    def parse(text: bytes | str, secret: SecretField) -> WorkloadKubeconfig:
        contents.append(text)
        return parse_workload_kubeconfig(text, secret)

    monkeypatch.setattr("kube.connection.parse_workload_kubeconfig", parse)
    return contents


async def refusal(connections: WorkloadConnections) -> str:
    with pytest.raises(NotConfigured) as caught:
        await connections.connect(EAST, SECRET)
    return caught.value.message


async def test_refused_kubeconfig_is_parsed_once_until_the_secret_has_another(
    east: East, connections: WorkloadConnections, parsed: list[bytes | str]
) -> None:
    east.secrets("first", "first", "second", "second", east.kubeconfig(), "second", east.kubeconfig())
    first = await refusal(connections)
    assert await refusal(connections) == first
    second = await refusal(connections)
    assert await refusal(connections) == second
    assert len(parsed) == 2
    connection = await connections.connect(EAST, SECRET)
    assert await refusal(connections) == second
    assert len(parsed) == 3
    assert await connections.connect(EAST, SECRET) is connection


async def test_certificate_with_the_key_of_another_is_loaded_once(
    east: East, connections: WorkloadConnections, parsed: list[bytes | str]
) -> None:
    mixed_up = {**east.admin.user, "client-key-data": encoded(east.pair.key)}
    east.secrets(east.kubeconfig(**mixed_up))
    assert "are no certificate and its key" in await refusal(connections)
    assert "are no certificate and its key" in await refusal(connections)
    assert len(parsed) == 1


@pytest.mark.rule("rule 33/credentials")
async def test_no_part_of_a_connection_shows_its_credentials(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig(token=TOKEN, **east.admin.user))
    connection = await connections.connect(EAST, SECRET)
    await node_of(connection)
    key = east.admin.key.splitlines()[1]
    text = repr((connection, connections, vars(connections), vars(connection.transport)))
    assert TOKEN not in text
    assert key not in text


async def test_management_cluster_needs_no_secret_and_any_other_does(
    transport: Transport, connections: WorkloadConnections, east: East
) -> None:
    east.secrets(east.kubeconfig())
    clusters = ClusterConnections(ClusterConnection.over(transport), connections)
    assert await clusters.of("", SECRET) is clusters.management
    assert (await clusters.of(EAST, SECRET)).cluster == EAST
    with pytest.raises(NotConfigured) as caught:
        await clusters.of(EAST, None)
    assert caught.value.message == f"no Secret with a kubeconfig of the cluster {EAST} is known"


async def test_cancelled_caller_takes_the_connection_from_no_other(
    east: East, connections: WorkloadConnections
) -> None:
    east.secrets(east.kubeconfig())
    leaver, stayer = (asyncio.create_task(connections.connect(EAST, SECRET)) for _ in range(2))
    await asyncio.sleep(0)
    leaver.cancel()
    with suppress(asyncio.CancelledError):
        await leaver
    assert await node_of(await stayer)
