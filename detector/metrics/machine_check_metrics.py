"""The reference's gauges of each MachineHealthCheck of OpenShift, as the picture shows it at a scrape (A.1).

They end with the check. What the worker deletes, the worker counts.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.picture.picture import Picture
from health.openshift.check import KIND

COVERED = "mapi_machinehealthcheck_nodes_covered"
SHORT_CIRCUIT = "mapi_machinehealthcheck_short_circuit"
_LABELS = ("name", "namespace")


class MachineCheckMetrics(Collector):
    """Gauges of one detector; only the leader speaks of the cluster."""

    def __init__(self, picture: Picture, is_leader: Callable[[], bool]) -> None:
        self._picture = picture
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Both of them, as it is now."""
        covered = GaugeMetricFamily(COVERED, "Machines that a MachineHealthCheck watches.", labels=_LABELS)
        text = "1 while more Machines are unhealthy than the check allows, so that nothing is remediated."
        short_circuit = GaugeMetricFamily(SHORT_CIRCUIT, text, labels=_LABELS)
        for check in self._picture.checks if self._is_leader() else ():
            allowance = self._picture.allowance(check)
            if check.kind == KIND and allowance is not None:
                covered.add_metric((check.name, check.namespace), allowance.total)
                short_circuit.add_metric((check.name, check.namespace), not allowance.allowed)
        yield covered
        yield short_circuit
