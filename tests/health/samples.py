"""Values that tests of the core share: a check, a node, requests, and what is seen of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from health.gate.check_snapshot import CheckSnapshot, TargetSnapshot
from health.gate.check_surroundings import NOTHING_AROUND, CheckSurroundings
from health.gate.health_check import HealthCheck, InvalidCheckError
from health.gate.template_validity import not_found
from health.gate.threshold import Allowance
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.node import Node
from health.model.references import CheckReference, IncidentReference, RequestReference, TargetReference
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import HEALTHY, Fact, Health, Verdict
from health.runbook.chores import LeftBehind

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TEMPLATE = {
    "apiVersion": "example.com/v1",
    "kind": "RebootTemplate",
    "namespace": "remediators",
    "name": "reboot",
}
INCIDENT = IncidentReference(
    cluster="main-0a1b",
    check=CheckReference(kind="NodeHealthCheck", name="workers"),
    target=TargetReference(kind="Node", name="node-1", uid="11111111-2222-3333-4444-555555555555"),
)
ALLOWED = Allowance.of_required(6, total=10, healthy=9)
BLOCKED = Allowance.of_required(6, total=10, healthy=5)


def stamp(time: datetime) -> str:
    """`time` as the API server writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_object(**spec: Any) -> dict[str, Any]:
    """A NodeHealthCheck as the API server holds it; a field of None is left out."""
    fields = {
        "selector": {"matchLabels": {"role": "worker"}},
        "minHealthy": "51%",
        "remediationTemplate": TEMPLATE,
        **spec,
    }
    return {
        "apiVersion": "remediation.medik8s.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {
            "name": "workers",
            "uid": "check-uid",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {key: value for key, value in fields.items() if value is not None},
    }


def check(**spec: Any) -> NodeHealthCheck:
    return NodeHealthCheck.parse(check_object(**spec))


def escalation(order: int, timeout: str = "5m", **template: str) -> dict[str, Any]:
    return {"remediationTemplate": TEMPLATE | template, "order": order, "timeout": timeout}


def condition(type_: str, status: str, since: datetime | None = NOW) -> dict[str, Any]:
    times = {} if since is None else {"lastTransitionTime": stamp(since)}
    return {"type": type_, "status": status, **times}


def node(*conditions: dict[str, Any], labels: dict[str, str] | None = None, **metadata: Any) -> Node:
    return Node.model_validate(node_object(*conditions, labels=labels, **metadata))


def node_object(
    *conditions: dict[str, Any], labels: dict[str, str] | None = None, **metadata: Any
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": INCIDENT.target.name,
            "uid": INCIDENT.target.uid,
            "resourceVersion": "7",
            "creationTimestamp": "2026-02-01T00:00:00Z",
            "labels": labels or {},
            **metadata,
        },
        "status": {"conditions": list(conditions)},
    }


def request(uid: str = "request-uid", template: str = "reboot", kind: str = "Reboot") -> RequestReference:
    return RequestReference(
        api_version="example.com/v1",
        kind=kind,
        namespace="remediators",
        name="node-1",
        uid=uid,
        template=template,
    )


def request_sight(
    uid: str = "request-uid", *, created: datetime = NOW, template: str = "reboot", **fields: Any
) -> RequestSnapshot:
    return RequestSnapshot(reference=request(uid, template), created=created, **fields)


def fact(since: datetime = NOW, status: str = "Unknown", type_: str = "Ready") -> Fact:
    return Fact(condition=type_, status=status, since=since)


def expired(name: str = "node-1", *requests: RequestSnapshot, since: datetime = NOW) -> TargetSnapshot:
    verdict = Verdict(Health.EXPIRED, "too long", fact(since), since + timedelta(minutes=5))
    return TargetSnapshot(name, f"uid-{name}", verdict, requests)


def waiting(name: str = "node-1", *requests: RequestSnapshot, since: datetime = NOW) -> TargetSnapshot:
    verdict = Verdict(Health.WAITING, "not long enough", fact(since), since + timedelta(minutes=5))
    return TargetSnapshot(name, f"uid-{name}", verdict, requests)


def recovered(name: str = "node-1", *requests: RequestSnapshot) -> TargetSnapshot:
    return TargetSnapshot(name, f"uid-{name}", HEALTHY, requests)


def snapshot(
    *targets: TargetSnapshot,
    of: HealthCheck | InvalidCheckError | None = None,
    allowance: Allowance | None = ALLOWED,
    around: CheckSurroundings = NOTHING_AROUND,
) -> CheckSnapshot:
    """What is seen of a check; of one that does not parse nothing is seen, as the detector makes it."""
    judged = check() if of is None else of
    if isinstance(judged, InvalidCheckError):
        return CheckSnapshot(judged, "check-uid", allowance=None)
    return CheckSnapshot(judged, "check-uid", allowance, {target.name: target for target in targets}, around)


NO_SUCH_KIND = CheckSurroundings(problem=not_found("No kind Reboot in example.com/v1."))
INVALID = InvalidCheckError("spec.minHealthy", None, "minHealthy must not be negative: -1")


def hanging(*requests: RequestReference) -> LeftBehind:
    """What remains where a finalizer keeps these."""
    return LeftBehind(hanging=requests, has_lease=True)
