"""The HTTP server of both processes: readiness and metrics on one address, of each family, and over TLS."""

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge

from devcluster.polling import until
from runtime.exposition import CounterWithoutSuffix, in_text, metrics_route
from runtime.problems import Problems
from runtime.serving import CERTIFICATE, CannotListen, ServingCertificate, readiness_routes, serve
from tests.support.api.eventually import eventually
from tests.support.api.ports import free_port
from tests.support.api.tls import write_pair
from tests.support.cluster.forked import fork


async def test_readiness_and_metrics_are_served_side_by_side() -> None:
    problems, registry, address = Problems(), CollectorRegistry(), f"127.0.0.1:{free_port()}"
    gauge = Gauge("depth", "How deep.", registry=registry)
    async with (
        serve(address, [*readiness_routes(problems), metrics_route(registry)]),
        aiohttp.ClientSession(f"http://{address}") as session,
    ):
        problems.report("water", "none")
        gauge.set(7)
        async with session.get("/readyz") as ready:
            assert (ready.status, await ready.text()) == (503, "water: none")
        # What Prometheus asks for first; it reads the older format as well.
        accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
        async with session.get("/metrics", headers=accept) as metrics:
            assert metrics.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert await metrics.text() == "# HELP depth How deep.\n# TYPE depth gauge\ndepth 7.0\n"


async def test_address_without_a_host_is_every_address_of_both_families() -> None:
    port = free_port()
    async with serve(f":{port}", readiness_routes(Problems())), aiohttp.ClientSession() as session:
        for host in ["127.0.0.1", *(["[::1]"] if socket.has_dualstack_ipv6() else [])]:
            async with session.get(f"http://{host}:{port}/healthz") as answer:
                assert answer.status == HTTPStatus.OK


def test_counter_has_no_twin_that_says_when_it_began() -> None:
    registry = CollectorRegistry()
    Counter("falls", "How often.", registry=registry).inc()
    assert (
        in_text(list(registry.collect()))
        == b"# HELP falls_total How often.\n# TYPE falls_total counter\nfalls_total 1.0\n"
    )


def test_counter_without_a_suffix_keeps_its_name() -> None:
    family = CounterWithoutSuffix("falls", "How often falls_total are.")
    family.add({"name": "a"}, 2)

    class OneFamily:
        def collect(self) -> list[CounterWithoutSuffix]:
            return [family]

    registry = CollectorRegistry()
    registry.register(OneFamily())
    assert in_text(list(registry.collect())).splitlines()[1:] == [
        b"# TYPE falls counter",
        b'falls{name="a"} 2.0',
    ]


PATIENCE = timedelta(seconds=60)


@asynccontextmanager
async def serving(directory: Path, problems: Problems) -> AsyncIterator[int]:
    """A server with the certificate of `directory`; its port."""
    certificate = ServingCertificate(directory, "certificate", problems)
    following = asyncio.create_task(certificate.follow())
    port = free_port()

    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    try:
        async with serve(f"127.0.0.1:{port}", [web.get("/", hello)], tls=certificate.context):
            yield port
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def served(port: int) -> str:
    """The certificate that a new connection gets, "" for none."""
    try:
        return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port), timeout=5)
    except (ssl.SSLError, ConnectionError):
        return ""


async def until_served(port: int, certificate: str) -> None:
    async def is_served() -> bool:
        return (await served(port)).strip() == certificate.strip()

    await until(is_served, within=PATIENCE, otherwise="the certificate is never served")


async def test_new_pair_is_served_without_a_restart(tmp_path: Path) -> None:
    first = write_pair(tmp_path)
    async with serving(tmp_path, Problems()) as port:
        await until_served(port, first)
        await until_served(port, write_pair(tmp_path))


async def test_pair_that_does_not_fit_together_is_not_taken_and_told(tmp_path: Path) -> None:
    problems = Problems()
    first = write_pair(tmp_path)
    async with serving(tmp_path, problems) as port:
        await until_served(port, first)
        (tmp_path / CERTIFICATE).write_text(write_pair(tmp_path / "other"))

        async def is_reported() -> bool:
            return bool(problems.sentences)

        await until(is_reported, within=PATIENCE, otherwise="the bad pair is never told")
        assert "tls.crt" in problems.sentences[0]
        assert (await served(port)).strip() == first.strip()

        await until_served(port, write_pair(tmp_path))
        assert problems.sentences == ()


async def test_missing_pair_is_a_problem_until_it_is_there(tmp_path: Path) -> None:
    problems = Problems()
    async with serving(tmp_path, problems) as port:
        assert await served(port) == ""
        assert "No such file" in problems.sentences[0]

        await until_served(port, write_pair(tmp_path))
        assert problems.sentences == ()


async def test_address_that_is_taken_is_reported_by_its_setting() -> None:
    address = f"127.0.0.1:{free_port()}"
    second = serve(address, [], setting="PARAMEDIC_WEBHOOK_ADDRESS")
    async with serve(address, []):
        with pytest.raises(CannotListen, match=r"^PARAMEDIC_WEBHOOK_ADDRESS: "):
            await second.__aenter__()


FAMILIES = ["127.0.0.1", *(["[::1]"] if socket.has_dualstack_ipv6() else [])]


@pytest.mark.parametrize("name", ["detector", "worker"])
async def test_probes_and_metrics_of_a_process_are_reached_by_each_family(name: str, tmp_path: Path) -> None:
    """As kubelet asks on an IPv6-only cluster, by the event loop that our processes run on."""
    ready = free_port()
    variables = {
        "PARAMEDIC_CLUSTER": "c",
        "PARAMEDIC_READY_ADDRESS": f":{ready}",
        "KUBECONFIG": str(tmp_path / "none"),
    }
    with (tmp_path / "log").open("wb") as log:
        process = fork(name, (), os.environ | variables, out=log.fileno(), err=log.fileno())
    try:
        await eventually(lambda: _listens(ready))
        async with aiohttp.ClientSession() as session:
            for host in FAMILIES:
                for where in (f"{ready}/healthz", f"{ready}/metrics"):
                    async with session.get(f"http://{host}:{where}") as answer:
                        assert answer.status == HTTPStatus.OK, (host, where)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
