"""Temporal's own metrics: the SDK's core serves them itself, on an address of its own, where one is set."""

from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from runtime.address import Address
from runtime.serving import CannotListen


def serve_temporal_metrics(address: str) -> Runtime | None:
    """The runtime for connections whose metrics are served on `address` (host:port); "" is the usual one.

    Raises:
        CannotListen: the address is taken, or none of this machine.

    """
    if not address:
        return None
    where = Address.parse(address)
    host = f"[{where.host}]" if ":" in where.host else where.host or "0.0.0.0"  # noqa: S104  as it was asked
    metrics = PrometheusConfig(
        bind_address=f"{host}:{where.port}", counters_total_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=metrics))
    except ValueError as error:
        setting = "PARAMEDIC_TEMPORAL_METRICS_ADDRESS"
        raise CannotListen(f"{setting}: cannot listen on {address!r}: {error}") from error
