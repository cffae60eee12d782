"""ClockMetrics: how far the detector's clock is from the API server's, at the moment of a scrape."""

from collections.abc import Callable, Iterator
from datetime import timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


class ClockMetrics(Collector):
    """The gauge of one detector, leading or not."""

    def __init__(self, skew: Callable[[], timedelta | None]) -> None:
        self._skew = skew

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """No sample where the API server did not tell its time."""
        text = "By how much the detector's clock is ahead of the API server's, as far as whole seconds tell."
        family = GaugeMetricFamily("paramedic_clock_skew_seconds", text, labels=())
        skew = self._skew()
        if skew is not None:
            family.add_metric((), skew.total_seconds())
        yield family
