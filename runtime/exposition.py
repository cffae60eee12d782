"""GET /metrics: all metrics of one process in the text format of Prometheus.

It always uses the classic format, 0.0.4, as the operators do: OpenMetrics requires `_total` at the end of
every counter, and one of theirs has another name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator

from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

# Otherwise each series has a second one with its creation time, a part of OpenMetrics, which we do not serve.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it is untyped


class CounterWithoutSuffix(Metric):
    """A counter whose name does not end with `_total`, which the Go client allows."""

    def __init__(self, name: str, documentation: str) -> None:
        super().__init__(name, documentation, "counter")

    def add(self, labels: dict[str, str], value: float) -> None:
        self.add_sample(self.name, labels, value)


def in_text(families: Collection[Metric]) -> bytes:
    """The metrics in the text format of Prometheus."""
    text = generate_latest(_Collected(families))
    for family in families:
        if isinstance(family, CounterWithoutSuffix):
            # The library writes HELP and TYPE of each counter with the suffix.
            text = text.replace(f" {family.name}_total ".encode(), f" {family.name} ".encode())
    return text


async def _nothing() -> bytes:
    return b""


def metrics_route(
    registry: CollectorRegistry, more: Callable[[], Awaitable[bytes]] = _nothing
) -> web.RouteDef:
    """The route of GET /metrics, for `serve`; `more` is text that follows the metrics of the registry."""

    async def metrics(_: web.Request) -> web.Response:
        families = list(registry.collect())
        # Formatting a thousand histograms takes a tenth of a second, too long for the event loop.
        text = await asyncio.to_thread(in_text, families)
        text += await more()
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return web.get("/metrics", metrics)


class _Collected(Collector):
    def __init__(self, families: Collection[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families
