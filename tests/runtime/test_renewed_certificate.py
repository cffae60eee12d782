"""A client certificate of Temporal that is renewed under a running process, over real connections."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from shutil import copy

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from devcluster.temporal import TemporalServer
from runtime.problems import Problems
from runtime.temporal_link import TemporalLink
from tests.runtime.test_temporal_link import running
from tests.support.api.eventually import eventually
from tests.support.api.tcp_proxy import TcpProxy
from tests.support.api.tls import write_pair

QUEUE = "questions"
NO_PAIR = (
    "temporal settings: TEMPORAL_TLS_CLIENT_KEY_PATH: "
    "holds a private key that is not that of the client certificate"
)
REFUSED = "accepts no connection with the present content of its files"


@activity.defn
async def answer() -> str:
    return "done"


def make(connection: Client) -> Worker:
    return Worker(connection, task_queue=QUEUE, activities=[answer])


def letting_in(server: Path, client: str) -> ssl.SSLContext:
    """TLS of a server that trusts one client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server / "tls.crt", server / "tls.key")
    context.load_verify_locations(cadata=client)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    return context


def tell(monkeypatch: pytest.MonkeyPatch, address: str, namespace: str, server: Path, client: Path) -> None:
    """As the component temporal-mtls tells a process."""
    for name, value in {
        "TEMPORAL_ADDRESS": address,
        "TEMPORAL_NAMESPACE": namespace,
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH": server / "tls.crt",
        "TEMPORAL_TLS_CLIENT_CERT_PATH": client / "tls.crt",
        "TEMPORAL_TLS_CLIENT_KEY_PATH": client / "tls.key",
    }.items():
        monkeypatch.setenv(name, str(value))


async def does_its_work(client: Client, number: int) -> bool:
    timeout = timedelta(seconds=30)
    name = f"asked-{number}"
    done = await client.execute_activity(answer, id=name, task_queue=QUEUE, schedule_to_close_timeout=timeout)
    return done == "done"


async def test_renewed_pair_is_taken_by_calls_and_worker_before_the_old_one_is_refused(
    temporal_server: TemporalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.temporal_link.CHECK_EVERY_SECONDS", 0.1)
    theirs, ours, renewed = (tmp_path / name for name in ("server", "client", "renewed"))
    problems = Problems()
    write_pair(theirs, is_authority=False)
    first = write_pair(ours)
    async with AsyncExitStack() as stack:
        namespace = temporal_server.namespace
        direct = await Client.connect(temporal_server.address, namespace=namespace)
        lets_in = letting_in(theirs, first)
        proxy = TcpProxy(f"//{temporal_server.address}", tls=lets_in)
        await stack.enter_async_context(proxy)
        tell(monkeypatch, proxy.address, namespace, theirs, ours)
        link = TemporalLink("a process", problems)
        await link.try_once()
        for work in (link.hold(), link.work(make)):
            await stack.enter_async_context(running(asyncio.create_task(work)))
        assert await does_its_work(direct, 1)

        second = write_pair(renewed, "renewed")
        copy(renewed / "tls.key", ours)
        await eventually(lambda: problems.sentences)
        assert problems.sentences == (NO_PAIR,)
        copy(renewed / "tls.crt", ours)
        await eventually(lambda: problems.sentences == (f"temporal settings: {proxy.address} {REFUSED}",))
        assert await does_its_work(link(), 2)  # what there is goes on

        lets_in.load_verify_locations(cadata=second)
        await eventually(lambda: not problems.sentences)
        await proxy.stop()
        proxy.tls = letting_in(theirs, second)
        await proxy.start()
        assert await does_its_work(link(), 3)
