"""The order of conditions in a status, as controllers of Cluster API sort them at each write (rule 48).

v1beta2 has its own order: availability first, then the types of the table, then unknown types, and at the
end `Paused` and `Deleting`. v1beta1 has `Ready` first. Types with the same rank are sorted by name.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

_FIRST = (
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
)
_LAST = ("Paused", "Deleting")
_OTHERS = len(_FIRST)
_PLACES = {type_: place for place, type_ in enumerate(_FIRST)} | {
    type_: _OTHERS + 1 + place for place, type_ in enumerate(_LAST)
}

_T = TypeVar("_T")


def in_order(conditions: Iterable[_T], type_of: Callable[[_T], str], *, is_old: bool) -> list[_T]:
    """The conditions in the order of their list; `is_old` means v1beta1."""

    def place(condition: _T) -> tuple[int, str]:
        type_ = type_of(condition)
        return (int(type_ != "Ready") if is_old else _PLACES.get(type_, _OTHERS)), type_

    return sorted(conditions, key=place)
