"""What Prometheus reads of a connection to Temporal, so that an outage can be alerted on without Temporal."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class TemporalMetrics(Collector):
    """The gauge of one process, leading or not."""

    def __init__(self, trouble: Callable[[], str]) -> None:
        """`trouble` is why Temporal cannot be used, "" if it can."""
        self._trouble = trouble

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """As it is now."""
        text = "1 where this process reaches Temporal, and its namespace is set up."
        yield GaugeMetricFamily("paramedic_temporal_reachable", text, value=not self._trouble())
