"""The detector's part for MachineHealthChecks of OpenShift: a target is a Machine with its Node.

The metrics are the gauges of the machine-api-operator for each check (MHC A.1/metric).
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from detector.state.cluster_state import ClusterState
from detector.state.machine_join import MachineJoin
from detector.watched_kind import KindMetrics, WatchedKind, WatchedTargets
from health.kinds.machines.conditions import REMEDIATION_ALLOWED
from health.kinds.machines.machine import KIND
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.openshift.machine import Machine, MachineTarget
from health.model.node import Node
from health.model.references import CheckReference
from health.model.stored_status import stored_condition

COVERED = "mapi_machinehealthcheck_nodes_covered"
SHORT_CIRCUIT = "mapi_machinehealthcheck_short_circuit"
_LABELS = ("name", "namespace")


class MachineCheckMetrics(Collector):
    """The gauges of one detector, as of the scrape; only the leader exports metrics of the cluster.

    They end with the check, and repeat its status while it is paused. The worker counts its own deletions.
    """

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
                total, is_allowed = numbers
                covered.add_metric((check.name, check.namespace), total)
                short_circuit.add_metric((check.name, check.namespace), not is_allowed)
        yield covered
        yield short_circuit

    def _numbers(self, check: CheckReference) -> tuple[int, bool] | None:
        """The number of Machines, and whether remediation is allowed; None if there is nothing to export."""
        allowance, entry = self._cluster_state.allowance(check), self._cluster_state.checks[check]
        is_ours = check.group_kind == MACHINE_HEALTH_CHECK.group_kind
        if not is_ours or allowance is None or entry.check is None:
            return None
        if not entry.check.is_fully_paused_in(self._cluster_state.cluster_context):
            return allowance.total, allowance.allowed
        expected = entry.record.status.get("expectedMachines")
        allowed = stored_condition(entry.record.status, REMEDIATION_ALLOWED)
        return (expected, allowed.get("status") != "False") if isinstance(expected, int) else None


def _target(machine: Machine, node: Node | None, *, is_read: bool) -> MachineTarget:
    return MachineTarget(machine, node, is_node_unread=not is_read)


def machine_join(cluster_state: ClusterState) -> MachineJoin:
    """Makes targets of Machines whose Nodes are in the management cluster."""
    return MachineJoin(cluster_state, KIND, _target)


WATCHED_MACHINE_HEALTH_CHECK = WatchedKind(
    targets=WatchedTargets(Machine, machine_join),
    metrics=lambda cluster_state, is_leader: KindMetrics((MachineCheckMetrics(cluster_state, is_leader),)),
)
