"""LimitMetrics: how many slots of limits are stuck, while this detector leads."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from health.policy.stuck_slots import StuckSlots


class LimitMetrics(Collector):
    """The gauge of stuck slots, for one detector."""

    def __init__(
        self, stuck_slots: Callable[[], tuple[StuckSlots, ...] | None], is_leader: Callable[[], bool]
    ) -> None:
        self._stuck_slots = stuck_slots
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return one sample for each limit with stuck slots."""
        text = "Remediations under way for over an hour that keep a limit full while targets wait."
        family = GaugeMetricFamily("paramedic_stuck_slots", text, labels=("limit",))
        for stuck in (self._stuck_slots() or ()) if self._is_leader() else ():
            family.add_metric((stuck.limit,), len(stuck.holders))
        yield family
