"""GET /metrics: all metrics of one process and of its Temporal SDK, in the text format of Prometheus.

It always uses the classic format, 0.0.4, as the operators do: OpenMetrics requires `_total` at the end of
every counter, and one of theirs has another name.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry, Metric, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from runtime.problems import one_sentence

ANSWER_WITHIN = timedelta(seconds=2)
LARGEST_TEXT = 4 * 1024**2
"""In bytes. A worker has about 100 KB; each type of workflow that Temporal sends adds series."""
_PORTS_TRIED = 5
"""Another process may take a free port before the core does."""
_LEVELS = TelemetryFilter(core_level="WARN", other_level="ERROR").formatted()
_LOGGING = LoggingConfig(
    filter=f"{_LEVELS},temporalio_client::retry=off",
    forwarding=LogForwardingConfig(
        logger=logging.getLogger("temporalio.core"),
        append_target_to_name=False,
        prepend_target_on_message=False,
    ),
)
_log = logging.getLogger(__name__)
# Otherwise each series has a second one with its creation time, a part of OpenMetrics, which we do not serve.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it is untyped


class CounterWithoutSuffix(Metric):
    """A counter whose name does not end with `_total`, which the Go client allows."""

    def __init__(self, name: str, documentation: str) -> None:
        super().__init__(name, documentation, "counter")

    def add(self, labels: dict[str, str], value: float) -> None:
        self.add_sample(self.name, labels, value)


def in_text(families: Collection[Metric]) -> bytes:
    text = generate_latest(_Collected(families))
    for family in families:
        if isinstance(family, CounterWithoutSuffix):
            # The library writes HELP and TYPE of each counter with the suffix.
            text = text.replace(f" {family.name}_total ".encode(), f" {family.name} ".encode())
    return text


def metrics_route(
    registry: CollectorRegistry, more: Callable[[], Awaitable[bytes]] | None = None
) -> web.RouteDef:
    """The route of GET /metrics, for `serve`; `more` is text that follows the metrics of the registry."""

    async def metrics(_: web.Request) -> web.Response:
        families = list(registry.collect())
        # Formatting a thousand histograms takes a tenth of a second, too long for the event loop.
        text = await asyncio.to_thread(in_text, families)
        text += await more() if more else b""
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return web.get("/metrics", metrics)


class _Collected(Collector):
    def __init__(self, families: Collection[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


@dataclass(frozen=True)
class TemporalCore:
    """The core of the Temporal SDK for one process, with its metrics and logs.

    The core can only serve its metrics on an address of its own. It gets a free port of the loopback
    interface, and GET /metrics appends the text from there. Its log lines get our format. Its warnings about
    retries are turned off: in an outage it would log each call many times a second; our own report is logged
    once (`runtime.problems`).
    """

    runtime: Runtime
    port: int
    """The port of the loopback interface with its metrics."""

    async def metrics(self) -> bytes:
        """Return its metrics in the text format of Prometheus; b"" if it does not answer in time."""
        timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN.total_seconds())
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"http://127.0.0.1:{self.port}/metrics") as answer,
            ):
                text = bytearray()
                async for part in answer.content.iter_any():
                    text += part
                    if len(text) > LARGEST_TEXT:  # half a line would spoil the scrape
                        reason = f"over {LARGEST_TEXT} bytes"
                        _log.warning("no metrics of the Temporal SDK", extra={"reason": reason})
                        return b""
        except (aiohttp.ClientError, TimeoutError) as error:
            _log.warning("no metrics of the Temporal SDK", extra={"reason": one_sentence(error)})
            return b""
        return bytes(text)


def temporal_core() -> TemporalCore:
    """The core for a process, with its metrics on a free port.

    Raises:
        ValueError: every port that was free a moment ago is taken.

    """
    for number in range(1, _PORTS_TRIED + 1):
        port = _free_port()
        metrics = PrometheusConfig(
            bind_address=f"127.0.0.1:{port}",
            counters_total_suffix=True,
            unit_suffix=True,
            durations_as_seconds=True,
        )
        try:
            return TemporalCore(Runtime(telemetry=TelemetryConfig(logging=_LOGGING, metrics=metrics)), port)
        except ValueError:
            if number == _PORTS_TRIED:
                raise
    raise AssertionError


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class TemporalMetrics(Collector):
    """The gauge paramedic_temporal_reachable of one process, leading or not.

    It is among our own metrics, so that an alert does not depend on Temporal.
    """

    def __init__(self, trouble: Callable[[], str | None]) -> None:
        """`trouble` returns why Temporal cannot be used, None if it can."""
        self._trouble = trouble

    def collect(self) -> Iterator[GaugeMetricFamily]:
        text = "1 where this process reaches Temporal, and its namespace is set up."
        yield GaugeMetricFamily("paramedic_temporal_reachable", text, value=not self._trouble())
