"""Values that tests of OpenShift's rules share: a check, a Machine with its Node, what is seen of them."""

from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import NO_HOLDS, CheckHolds, CheckSnapshot, TargetSnapshot
from health.check.health_check import ParsedCheck
from health.check.template_validity import not_found
from health.check.threshold import Allowance
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.machine import EXTERNAL_REMEDIATION, Machine, MachineTarget
from health.model.node import Node
from health.model.observation import Hold, HoldReason
from health.model.references import Action, Step, TemplateReference
from health.model.verdict import Fact, Health, Verdict
from objects.timestamps import stamp
from tests.support.values.builders import NOW, condition, node
from tests.support.values.held import held, with_holds

NAMESPACE = "openshift-machine-api"
CREATED = NOW - timedelta(days=1)
TEMPLATE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
    "kind": "Metal3RemediationTemplate",
    "name": "reboot",
}
NOT_READY = {"type": "Ready", "status": "False", "timeout": "300s"}
PAUSED = {"cluster.x-k8s.io/paused": "false"}
EXTERNAL = {"machine.openshift.io/remediation-strategy": "external-baremetal"}
MACHINE_SET = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "name": "workers-a",
    "uid": "set-uid",
    "controller": True,
}
DELETE, MARK = Step(action=Action.DELETE), Step(action=Action.MARK)
REQUEST = Step(
    template=TemplateReference(
        api_version="infrastructure.cluster.x-k8s.io/v1beta1",
        kind="Metal3RemediationTemplate",
        namespace=NAMESPACE,
        name="reboot",
    )
)
HEALTHY_NODE = condition("Ready", "True", CREATED)
OWNED_BY_NOBODY: dict[str, Any] = {"owners": (MACHINE_SET | {"controller": False},)}
NO_CONTROLLER = Hold(reason=HoldReason.NO_CONTROLLER, message="no controller owns it")


def check_object(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A MachineHealthCheck as the API server holds it, with nothing in its spec but what is given."""
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineHealthCheck",
        "metadata": {
            "name": "workers",
            "namespace": NAMESPACE,
            "uid": "check-uid",
            "generation": 3,
            "creationTimestamp": stamp(CREATED),
            "annotations": annotations or {},
        },
        "spec": spec,
    }


def check(annotations: dict[str, str] | None = None, **spec: Any) -> MachineHealthCheck:
    return MachineHealthCheck.parse(check_object(annotations, **{"unhealthyConditions": [NOT_READY], **spec}))


def machine(  # noqa: PLR0913  each is a part of a Machine that the rules look at
    *,
    phase: str = "Running",
    node_name: str = "node-1",
    updated: datetime | None = CREATED,
    owners: tuple[dict[str, Any], ...] = (MACHINE_SET,),
    is_going: bool = False,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
) -> Machine:
    metadata = {
        "name": "machine-1",
        "namespace": NAMESPACE,
        "uid": "machine-uid",
        "creationTimestamp": stamp(CREATED),
        "labels": labels or {},
        "annotations": annotations or {},
        "ownerReferences": list(owners),
    }
    status: dict[str, Any] = {"phase": phase}
    if is_going:
        metadata["deletionTimestamp"] = stamp(NOW)
    if updated is not None:
        status["lastUpdated"] = stamp(updated)
    if node_name:
        status["nodeRef"] = {"kind": "Node", "name": node_name}
    return Machine.model_validate({"metadata": metadata, "status": status})


MARKED = {EXTERNAL_REMEDIATION: ""}


def target(*conditions: dict[str, Any], **of_machine: Any) -> MachineTarget:
    """A Machine with a Node of these conditions."""
    return MachineTarget(machine(**of_machine), node(*conditions))


def without_node(**of_machine: Any) -> MachineTarget:
    """A Machine that was never linked to a Node."""
    return MachineTarget(machine(node_name="", **of_machine))


def with_lost_node(**of_machine: Any) -> MachineTarget:
    return MachineTarget(machine(**of_machine))


def node_of(one: MachineTarget) -> Node:
    assert one.node is not None
    return one.node


def failed(name: str = "machine-1", *, since: datetime = NOW, **fields: Any) -> TargetSnapshot:
    """The snapshot of a Machine that expires at once."""
    fact = Fact(condition="Phase", status="Failed", since=since, is_moving=True)
    verdict = Verdict(health=Health.EXPIRED, reason="its phase is Failed", fact=fact, deadline=since)
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=verdict, node_name="node-1", **fields)


def starting(name: str = "machine-1", *, since: datetime = NOW) -> TargetSnapshot:
    """The snapshot of a Machine that waits for its Node; its status was last written at `since`."""
    fact = Fact(condition="Node", status="missing", since=since, is_moving=True)
    verdict = Verdict(
        health=Health.WAITING, reason="no Node yet", fact=fact, deadline=since + timedelta(minutes=10)
    )
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=verdict, node_name="node-1")


def numbers(total: int, healthy: int, of: MachineHealthCheck | None = None) -> Allowance:
    return (of or check()).allowance(total=total, healthy=healthy)


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
        return CheckSnapshot(parsed=judged, uid="check-uid", allowance=None)
    known = {target.name: target for target in targets}
    seen = CheckSnapshot(
        parsed=ParsedCheck(judged), uid="check-uid", allowance=numbers(total, healthy, judged), targets=known
    )
    return with_holds(seen, holds)


def refusal(annotations: dict[str, str] | None = None, **spec: Any) -> ParsedCheck:
    """A check with this spec, which cannot be read."""
    return ParsedCheck.of(MachineHealthCheck.parse, check_object(annotations, **spec))


INVALID = refusal(maxUnhealthy=-1)
NO_TEMPLATE = held(not_found("Metal3RemediationTemplate/reboot not found"))
