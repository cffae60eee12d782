"""MachineHealthCheck of Cluster API as one of the kinds of health check."""

from collections.abc import Mapping
from typing import Any, cast

from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import UpgradeSignal
from health.kinds.check_kind import CheckKind
from health.kinds.clusterapi.check import KIND, MachineHealthCheck
from health.kinds.clusterapi.cluster import cluster_of, kubeconfig_secret, metadata_patch
from health.kinds.clusterapi.events import EVENTS
from health.kinds.clusterapi.group import CONTROL_PLANE_GROUP, GROUP, VERSIONS
from health.kinds.clusterapi.machine import MACHINES
from health.kinds.clusterapi.machine_conditions import TARGET_REPORTS
from health.kinds.clusterapi.remediation_request import REQUESTS
from health.kinds.clusterapi.status import FAILING, status_patch
from health.kinds.machines.conditions import held_since

ROLLING_OUT = tuple(
    UpgradeSignal(f"{CONTROL_PLANE_GROUP}/{version}", "KubeadmControlPlane", "RollingOut", "True")
    for version in VERSIONS
)
"""Reported since Cluster API 1.9, in v1beta1 beside the older conditions; a missing kind signals nothing."""


def _metadata_patch(
    check: HealthCheck, metadata: Mapping[str, Any], context: ClusterContext
) -> dict[str, Any]:
    machine_check = cast("MachineHealthCheck", check)
    cluster = machine_check.cluster_in(context)
    return metadata_patch(metadata, machine_check.api_version, cluster) if cluster is not None else {}


CLUSTER_API_MACHINE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="machinehealthchecks",
    versions=VERSIONS,
    is_namespaced=True,
    targets=MACHINES,
    parse=MachineHealthCheck.parse,
    status_patch=status_patch,
    events=EVENTS.events,
    request_lost=EVENTS.request_lost,
    component="machinehealthcheck-controller",
    held_since=held_since,
    failing_conditions=FAILING,
    roles=("deploy/components/cluster-api/machine-health-checks.yaml",),
    operator="Cluster API",
    operator_lease="controller-leader-election-capi",
    operator_guide="docs/cluster-api-switch.md#switch",
    operator_manager="manager",
    owner_of=REQUESTS.owner_of,
    is_unsigned_for=REQUESTS.is_unsigned_for,
    target_reports=TARGET_REPORTS,
    metadata_patch=_metadata_patch,
    kubeconfig=kubeconfig_secret,
    kubeconfig_roles="deploy/examples/kubeconfig-secrets.yaml",
    upgrade_signals=ROLLING_OUT,
    cluster_of=cluster_of,
)
