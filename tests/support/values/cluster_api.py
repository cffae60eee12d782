"""Values that tests of Cluster API's rules share: checks, Clusters, Machines with Nodes, and what is seen."""

from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import NO_HOLDS, CheckHolds, CheckSnapshot, TargetSnapshot
from health.check.health_check import ParsedCheck
from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.cluster import CHECK, Cluster, judge
from health.kinds.clusterapi.group import V1BETA1, V1BETA2
from health.kinds.clusterapi.machine import Machine, MachineTarget
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition, node
from tests.support.values.held import with_holds

NAMESPACE = "fleet"
CREATED = NOW - timedelta(days=1)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SELECTOR = {"matchLabels": {"pool": "workers"}}
LABELS = {"cluster.x-k8s.io/cluster-name": "edge", "pool": "workers"}
CONTROL_PLANE = {"cluster.x-k8s.io/control-plane": ""}
PAUSED = {"cluster.x-k8s.io/paused": ""}
REMEDIATE = {"cluster.x-k8s.io/remediate-machine": ""}
TEMPLATE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
    "kind": "Metal3RemediationTemplate",
    "name": "reboot",
}
NOT_READY = {"type": "Ready", "status": "False", "timeoutSeconds": 300}
MACHINE_SET = {
    "apiVersion": V1BETA2,
    "kind": "MachineSet",
    "name": "workers-a",
    "uid": "set-uid",
    "controller": True,
}


def check_object(
    annotations: dict[str, str] | None = None, api_version: str = V1BETA2, **spec: Any
) -> dict[str, Any]:
    """A MachineHealthCheck as the API server holds it; a field of None is left out."""
    fields = {"clusterName": "edge", "selector": SELECTOR, **spec}
    return {
        "apiVersion": api_version,
        "kind": "MachineHealthCheck",
        "metadata": {
            "name": "workers",
            "namespace": NAMESPACE,
            "uid": "check-uid",
            "generation": 3,
            "creationTimestamp": stamp(CREATED),
            "annotations": annotations or {},
        },
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def check(
    annotations: dict[str, str] | None = None, *, trigger: dict[str, Any] | None = None, **spec: Any
) -> MachineHealthCheck:
    """A check with a timer of five minutes for Nodes that are not ready."""
    remediation = {**({"triggerIf": trigger} if trigger else {}), **spec.pop("remediation", {})}
    fields = {"checks": {"unhealthyNodeConditions": [NOT_READY]}, "remediation": remediation or None, **spec}
    return MachineHealthCheck.parse(check_object(annotations, V1BETA2, **fields))


def old_check(annotations: dict[str, str] | None = None, **spec: Any) -> MachineHealthCheck:
    return MachineHealthCheck.parse(check_object(annotations, V1BETA1, **spec))


def refusal(annotations: dict[str, str] | None = None, **spec: Any) -> ParsedCheck:
    """A check with this spec, which cannot be read."""
    return ParsedCheck.of(MachineHealthCheck.parse, check_object(annotations, **spec))


def cluster(  # noqa: PLR0913  each is a part of a Cluster that the rules look at
    *,
    initialized: str = "True",
    ready: str = "True",
    initialized_since: datetime = CREATED,
    ready_since: datetime = CREATED,
    paused: bool = False,
    version: str = "7",
) -> Cluster:
    """A Cluster; a condition of "" is not there."""
    conditions = [
        condition(type_, status, since)
        for type_, status, since in (
            ("ControlPlaneInitialized", initialized, initialized_since),
            ("InfrastructureReady", ready, ready_since),
        )
        if status
    ]
    metadata = {"name": "edge", "namespace": NAMESPACE, "uid": "cluster-uid", "resourceVersion": version}
    raw = {"metadata": metadata, "spec": {"paused": paused}, "status": {"conditions": conditions}}
    return Cluster.model_validate(raw)


def in_cluster(one: Cluster | None = None, **fields: Any) -> ClusterContext:
    return ClusterContext(of_kinds={CHECK: judge([one or cluster()])}, **fields)


EVERYTHING_READY = in_cluster()


def machine(  # noqa: PLR0913  each is a part of a Machine that the rules look at
    *conditions: dict[str, Any],
    node_name: str = "node-1",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    is_going: bool = False,
    owners: tuple[dict[str, Any], ...] = (MACHINE_SET,),
    created: datetime = CREATED,
    api_version: str = V1BETA2,
    uid: str = "machine-uid",
) -> Machine:
    metadata: dict[str, Any] = {
        "name": "machine-1",
        "namespace": NAMESPACE,
        "uid": uid,
        "generation": 4,
        "creationTimestamp": stamp(created),
        "labels": LABELS | (labels or {}),
        "annotations": annotations or {},
        "ownerReferences": list(owners),
    }
    if is_going:
        metadata["deletionTimestamp"] = stamp(NOW)
    status: dict[str, Any] = {"conditions": list(conditions)}
    if node_name:
        status["nodeRef"] = {"name": node_name}
    raw = {
        "apiVersion": api_version,
        "metadata": metadata,
        "spec": {"clusterName": "edge"},
        "status": status,
    }
    return Machine.model_validate(raw)


def target(*conditions: dict[str, Any], of: Machine | None = None, **of_machine: Any) -> MachineTarget:
    """A Machine with a Node of these conditions."""
    return MachineTarget(of or machine(**of_machine), node(*conditions))


def without_node(*conditions: dict[str, Any], **of_machine: Any) -> MachineTarget:
    """A Machine that was never linked to a Node."""
    return MachineTarget(machine(*conditions, node_name="", **of_machine))


def with_lost_node(*conditions: dict[str, Any], **of_machine: Any) -> MachineTarget:
    return MachineTarget(machine(*conditions, **of_machine))


HEALTHY_NODE = condition("Ready", "True", CREATED)


def snapshot(
    *targets: TargetSnapshot,
    of: MachineHealthCheck | ParsedCheck | None = None,
    total: int = 5,
    healthy: int = 5,
    holds: CheckHolds = NO_HOLDS,
) -> CheckSnapshot:
    """The snapshot of a check. As in the detector, the snapshot of a check that does not parse is empty."""
    judged = check() if of is None else of
    if isinstance(judged, ParsedCheck):
        return CheckSnapshot(parsed=judged, uid="check-uid", allowance=None, generation=3)
    known = {one.name: one for one in targets}
    decided = judged.allowance(total=total, healthy=healthy)
    selected = frozenset(f"machine-{number}" for number in range(total))
    seen = CheckSnapshot(
        parsed=ParsedCheck(judged),
        uid="check-uid",
        allowance=decided,
        targets=known,
        selected=selected,
        generation=judged.generation,
    )
    return with_holds(seen, holds)


def merged(stored: Any, patch: Any) -> Any:
    """Apply a merge patch as the API server does."""
    if not isinstance(patch, dict):
        return patch
    known = stored if isinstance(stored, dict) else {}
    changed = {key: merged(known.get(key), value) for key, value in patch.items() if value is not None}
    return {key: value for key, value in {**known, **changed}.items() if patch.get(key, value) is not None}
