"""Exposition: GET /metrics, all metrics of one process in the text format of Prometheus.

Always the classic format, 0.0.4, as the operators serve it: in OpenMetrics every counter has to end with
`_total`, and one of theirs does not.
"""

import asyncio
from collections.abc import Collection, Iterator

from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

# Else each series has a twin that says when it began: a part of OpenMetrics, which we do not serve.
disable_created_metrics()  # type: ignore[no-untyped-call]  # its author left the type out


class CounterWithoutSuffix(Metric):
    """A counter whose name does not end with `_total`, as the Go client lets one be named."""

    def __init__(self, name: str, documentation: str) -> None:
        super().__init__(name, documentation, "counter")

    def add(self, labels: dict[str, str], value: float) -> None:
        """Add one series."""
        self.add_sample(self.name, labels, value)


def in_text(families: Collection[Metric]) -> bytes:
    """What was collected, as Prometheus reads it."""
    text = generate_latest(_Collected(families))
    for family in families:
        if isinstance(family, CounterWithoutSuffix):
            # The library writes HELP and TYPE of any counter for a name with the suffix.
            text = text.replace(f" {family.name}_total ".encode(), f" {family.name} ".encode())
    return text


def metrics_route(registry: CollectorRegistry) -> web.RouteDef:
    """GET /metrics."""

    async def metrics(_: web.Request) -> web.Response:
        families = list(registry.collect())
        # A thousand histograms take a tenth of a second to write down: the event loop has better to do.
        text = await asyncio.to_thread(in_text, families)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return web.get("/metrics", metrics)


class _Collected(Collector):
    def __init__(self, families: Collection[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families
