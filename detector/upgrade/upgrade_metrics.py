"""UpgradeMetrics: exports how long an upgrade has lasted, and how many checks are paused for it.

Only the leader exports them.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.upgrade.upgrade_pauses import UpgradePauses


class UpgradeMetrics(Collector):
    """The gauges of upgrades, for one detector."""

    def __init__(self, upgrades: UpgradePauses, now: Callable[[], datetime]) -> None:
        self._upgrades = upgrades
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return both gauges by the current observation."""
        if not self._upgrades.speaks:
            return
        seen = self._upgrades.observe()
        text = "Duration of the current upgrade of the cluster; no series without one."
        lasts = GaugeMetricFamily("paramedic_upgrade_seconds", text, labels=())
        if seen.is_under_way and seen.since is not None:
            lasts.add_metric((), max(0.0, (self._now() - seen.since).total_seconds()))
        yield lasts
        text = "Checks that the upgrade pause has paused and that are still paused."
        paused = sum(check.is_paused and check.is_marked for check in seen.checks)
        yield GaugeMetricFamily("paramedic_upgrade_paused_checks", text, value=paused)
