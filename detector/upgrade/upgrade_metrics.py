"""UpgradeMetrics: how long an upgrade has gone on, and how many checks are paused for it, at a scrape.

Only the leader speaks of the cluster.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.upgrade.upgrade_pauses import UpgradePauses


class UpgradeMetrics(Collector):
    """Gauges of one detector."""

    def __init__(self, upgrades: UpgradePauses, now: Callable[[], datetime]) -> None:
        self._upgrades = upgrades
        self._now = now

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Both of them, as it is now."""
        if not self._upgrades.speaks:
            return
        seen = self._upgrades.observe()
        text = "How long the upgrade of the cluster has gone on; no series while there is none."
        lasts = GaugeMetricFamily("paramedic_upgrade_seconds", text, labels=())
        if seen.is_under_way and seen.since is not None:
            lasts.add_metric((), max(0.0, (self._now() - seen.since).total_seconds()))
        yield lasts
        text = "Checks that the upgrade pause has paused, and nobody has unpaused yet."
        paused = sum(check.is_paused and check.is_marked for check in seen.checks)
        yield GaugeMetricFamily("paramedic_upgrade_paused_checks", text, value=paused)
