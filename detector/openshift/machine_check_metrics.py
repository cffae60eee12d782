"""The machine-api-operator's gauges of each MachineHealthCheck, as of the scrape (MHC A.1/metric).

They end with the check, and repeat its status while it is paused. The worker counts its own deletions.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.state.cluster_state import ClusterState
from health.kinds.machines.conditions import REMEDIATION_ALLOWED
from health.kinds.openshift.check import KIND
from health.kinds.openshift.machine import GROUP
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.stored_status import stored_condition
from objects.group_kind import GroupKind

COVERED = "mapi_machinehealthcheck_nodes_covered"
SHORT_CIRCUIT = "mapi_machinehealthcheck_short_circuit"
_LABELS = ("name", "namespace")


class _Numbers(NamedTuple):
    covered: int
    is_short_circuited: bool


class MachineCheckMetrics(Collector):
    """The gauges of one detector; only the leader exports metrics of the cluster."""

    def __init__(self, cluster_state: ClusterState, is_leader: Callable[[], bool]) -> None:
        self._cluster_state = cluster_state
        self._is_leader = is_leader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return both gauges by the current state."""
        covered = GaugeMetricFamily(COVERED, "Machines that a MachineHealthCheck watches.", labels=_LABELS)
        text = "1 while more Machines are unhealthy than the check allows, so that nothing is remediated."
        short_circuit = GaugeMetricFamily(SHORT_CIRCUIT, text, labels=_LABELS)
        for check in self._cluster_state.checks if self._is_leader() else ():
            numbers = self._numbers(check)
            if numbers is not None:
                covered.add_metric((check.name, check.namespace), numbers.covered)
                short_circuit.add_metric((check.name, check.namespace), numbers.is_short_circuited)
        yield covered
        yield short_circuit

    def _numbers(self, check: CheckReference) -> _Numbers | None:
        """The numbers of a check; None if there is nothing to export."""
        allowance, entry = self._cluster_state.allowance(check), self._cluster_state.checks[check]
        is_ours = check.group_kind == GroupKind(GROUP, KIND)
        if not is_ours or allowance is None or isinstance(entry.check, InvalidCheckError):
            return None
        if entry.check.is_fully_paused_in(self._cluster_state.cluster_context):
            return _as_published(entry.record.status)
        return _Numbers(allowance.total, not allowance.allowed)


def _as_published(status: Mapping[str, Any]) -> _Numbers | None:
    expected = status.get("expectedMachines")
    if not isinstance(expected, int):
        return None
    is_allowed = stored_condition(status, REMEDIATION_ALLOWED).get("status") != "False"
    return _Numbers(expected, not is_allowed)
