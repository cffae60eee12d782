"""Metrics and logs of the Temporal SDK's core.

The core serves its metrics itself, on a separate address if one is set; a gauge among our own metrics says
whether Temporal is reached, so that an alert does not depend on Temporal. Log lines of the core get our
format. Its warnings about retries are turned off: in an outage it would log each call many times a second;
our own report is logged once (`runtime.problems`).
"""

import logging
import socket
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    PrometheusConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from runtime.address import Address
from runtime.serving import CannotListen

_LEVELS = TelemetryFilter(core_level="WARN", other_level="ERROR").formatted()
_LOGGING = LoggingConfig(
    filter=f"{_LEVELS},temporalio_client::retry=off",
    forwarding=LogForwardingConfig(
        logger=logging.getLogger("temporalio.core"),
        append_target_to_name=False,
        prepend_target_on_message=False,
    ),
)


def temporal_core(metrics_address: str) -> Runtime:
    """The runtime for a process; the core's metrics are served on `metrics_address`, unless that is "".

    Raises:
        CannotListen: the address is taken, or not of this machine.

    """
    metrics = _metrics(metrics_address) if metrics_address else None
    try:
        return Runtime(telemetry=TelemetryConfig(logging=_LOGGING, metrics=metrics))
    except ValueError as error:
        setting = "PARAMEDIC_TEMPORAL_METRICS_ADDRESS"
        raise CannotListen(f"{setting}: cannot listen on {metrics_address!r}: {error}") from error


def _metrics(address: str) -> PrometheusConfig:
    where = Address.parse(address)
    host = where.host or _every_address()
    return PrometheusConfig(
        bind_address=f"[{host}]:{where.port}" if ":" in host else f"{host}:{where.port}",
        counters_total_suffix=True,
        durations_as_seconds=True,
    )


def _every_address() -> str:
    """The core listens on one address: the IPv6 one includes IPv4, if the kernel has IPv6."""
    return "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104  the setting asks for it


class TemporalMetrics(Collector):
    """The gauge paramedic_temporal_reachable of one process, leading or not."""

    def __init__(self, trouble: Callable[[], str]) -> None:
        """`trouble` returns why Temporal cannot be used, "" if it can."""
        self._trouble = trouble

    def collect(self) -> Iterator[GaugeMetricFamily]:
        text = "1 where this process reaches Temporal, and its namespace is set up."
        yield GaugeMetricFamily("paramedic_temporal_reachable", text, value=not self._trouble())
