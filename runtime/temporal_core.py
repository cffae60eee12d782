"""TemporalCore: what a connection to Temporal shows besides its work: metrics, and log lines.

The SDK's core serves its metrics itself, on an address of its own, where one is set; a gauge of ours says
beside ours whether Temporal is reached, so that an outage can be alerted on without Temporal. What the core
logs becomes lines like ours. That a call is tried again it would say for every call, many times a second in
an outage, which is told once by whoever is kept from his work (`runtime.problems`).
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
    """The runtime for the connections of a process; its metrics are served on `metrics_address`, "" is none.

    Raises:
        CannotListen: the address is taken, or none of this machine.

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
    """The core listens on one address: that of IPv6 takes IPv4 along, where the kernel has IPv6."""
    return "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104  as it was asked


class TemporalMetrics(Collector):
    """The gauge of one process, leading or not."""

    def __init__(self, trouble: Callable[[], str]) -> None:
        """`trouble` is why Temporal cannot be used, "" if it can."""
        self._trouble = trouble

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """As it is now."""
        text = "1 where this process reaches Temporal, and its namespace is set up."
        yield GaugeMetricFamily("paramedic_temporal_reachable", text, value=not self._trouble())
