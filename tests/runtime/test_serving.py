"""The HTTP server of both processes: readiness and metrics on one address."""

import socket
from http import HTTPStatus

import aiohttp
from prometheus_client import CollectorRegistry, Counter, Gauge

from runtime.exposition import CounterWithoutSuffix, in_text, metrics_route
from runtime.problems import Problems
from runtime.serving import readiness_routes, serve
from tests.support.api.ports import free_port


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
