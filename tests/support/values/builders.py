"""Builders of the values that many tests use: checks, nodes, requests, steps, snapshots and observations."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from health.check.check_snapshot import NO_HOLDS, CheckHolds, CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck, ParsedCheck
from health.check.template_validity import not_found
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.gate.admission import answered
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.admission import Admission, Intent
from health.model.node import Node
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import (
    CheckReference,
    IncidentReference,
    RequestReference,
    Step,
    TargetReference,
    TemplateReference,
)
from health.model.request_snapshot import RequestSnapshot
from health.model.sighting import Restart
from health.model.verdict import HEALTHY, Fact, Health, UnhealthyCondition, Verdict, judged, matches
from health.policy.limits import Limits
from health.runbook.failures import LeftBehind
from objects.field_problem import FieldProblem
from objects.timestamps import stamp
from tests.support.values.held import held, with_holds
from workflows.messages import EarlierAttempt

MINUTE = timedelta(minutes=1)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TEMPLATE = {
    "apiVersion": "example.com/v1",
    "kind": "RebootTemplate",
    "namespace": "remediators",
    "name": "reboot",
}


def template(
    name: str = "reboot", kind: str = "RebootTemplate", namespace: str = "remediators"
) -> TemplateReference:
    return TemplateReference(api_version="example.com/v1", kind=kind, namespace=namespace, name=name)


def incident_reference(
    cluster: str = "main-0a1b", uid: str = "11111111-2222-3333-4444-555555555555"
) -> IncidentReference:
    return IncidentReference(
        cluster=cluster,
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name="node-1", uid=uid),
    )


INCIDENT = incident_reference()
REBOOT, RESET, REPLACE = template(), template("reset"), template("replace", "ReplaceTemplate")
CLASSIC = (Step(template=REBOOT),)
FIRST = Step(template=REBOOT, timeout_seconds=300)
SECOND = Step(template=RESET, timeout_seconds=120)
THIRD = Step(template=REPLACE, timeout_seconds=600)
ESCALATION = (FIRST, SECOND, THIRD)
"""Two templates of one kind, and one of another."""
ADMITTED = Admission()
"""The admission when no limit is reached."""
EMPTY_CONTEXT = ClusterContext()
"""The context of a cluster without an upgrade or a stop."""
HOLD = Hold(reason=HoldReason.THRESHOLD, message="5 of 10 unhealthy, at most 4 allowed")
ALLOWED = Allowance.of_required(6, total=10, healthy=9)
BLOCKED = Allowance.of_required(6, total=10, healthy=5)


def check_object(**spec: Any) -> dict[str, Any]:
    """A NodeHealthCheck as the API server returns it; fields that are None are left out."""
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


def limits(**fields: Any) -> Limits:
    """Limits from fields with the names of the policy."""
    return Limits.model_validate(fields)


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


def request_snapshot(
    uid: str = "request-uid", *, created: datetime = NOW, template: str = "reboot", **fields: Any
) -> RequestSnapshot:
    return RequestSnapshot(reference=request(uid, template), created=created, **fields)


def request_of(step: Step, age: timedelta = timedelta(), **fields: object) -> RequestSnapshot:
    """A request of `step`, created `age` ago; its uid is the name of its template."""
    template = step.template
    snapshot = request_snapshot(template.name, template=template.name, created=NOW - age, **fields)
    reference: RequestReference = snapshot.reference.model_copy(update={"kind": template.request_kind})
    return snapshot.model_copy(update={"reference": reference})


def with_steps_tried(*steps: Step) -> list[RequestSnapshot]:
    """A target whose requests failed and were stopped."""
    return [request_of(step, succeeded=False, timed_out_at=NOW) for step in steps]


def verdict(
    on: Node, rules: Sequence[UnhealthyCondition], now: datetime, restarts: Sequence[Restart] = ()
) -> Verdict:
    """The verdict of these rules on a Node."""
    return judged(matches(on, rules, restarts), now)


def fact(since: datetime = NOW, status: str = "Unknown", type_: str = "Ready") -> Fact:
    return Fact(condition=type_, status=status, since=since)


def seen(
    *requests: RequestSnapshot,
    state: TargetState = TargetState.EXPIRED,
    steps: tuple[Step, ...] = ESCALATION,
    hold: Hold | None = None,
    **fields: Any,
) -> Observation:
    """The detector's answer to a question that asks to act, for a target with these requests."""
    base = Observation(
        state=state,
        reason=f"it is {state}",
        remaining_seconds=90 if state is TargetState.WAITING else 0,
        fact=fact(),
        steps=() if state is TargetState.UNKNOWN else steps,
        requests=requests,
        hold=hold,
        admission=None if hold else ADMITTED,
    )
    return base.model_copy(update=fields)


def classic(*requests: RequestSnapshot, **fields: Any) -> Observation:
    """The same, under a check with one template and without a timeout."""
    return seen(*requests, steps=CLASSIC, **fields)


def expired(name: str = "node-1", *requests: RequestSnapshot, since: datetime = NOW) -> TargetSnapshot:
    verdict = Verdict(
        health=Health.EXPIRED, reason="too long", fact=fact(since), deadline=since + timedelta(minutes=5)
    )
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=verdict, requests=requests)


def waiting(name: str = "node-1", *requests: RequestSnapshot, since: datetime = NOW) -> TargetSnapshot:
    verdict = Verdict(
        health=Health.WAITING,
        reason="not long enough",
        fact=fact(since),
        deadline=since + timedelta(minutes=5),
    )
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=verdict, requests=requests)


def recovered(name: str = "node-1", *requests: RequestSnapshot) -> TargetSnapshot:
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=HEALTHY, requests=requests)


def snapshot(
    *targets: TargetSnapshot,
    of: HealthCheck | ParsedCheck | None = None,
    allowance: Allowance | None = ALLOWED,
    holds: CheckHolds = NO_HOLDS,
) -> CheckSnapshot:
    """The snapshot of a check. As in the detector, the snapshot of a check that does not parse is empty."""
    judged = check() if of is None else of
    if isinstance(judged, ParsedCheck):
        return CheckSnapshot(parsed=judged, uid="check-uid", allowance=None)
    known = {target.name: target for target in targets}
    return with_holds(
        CheckSnapshot(parsed=ParsedCheck(judged), uid="check-uid", allowance=allowance, targets=known), holds
    )


NO_SUCH_KIND = held(not_found("No kind Reboot in example.com/v1."))
INVALID = ParsedCheck(
    problem=FieldProblem(field="spec.minHealthy", words="minHealthy must not be negative: -1")
)


def hanging(*requests: RequestReference) -> LeftBehind:
    return LeftBehind(hanging=requests, has_lease=True)


def without_limits(_: IncidentReference, observation: Observation, intent: Intent) -> Observation:
    """Answer as a detector in which no limit is reached."""
    return answered(observation, intent, Admission)


class NoEarlierAttempts:
    """The answer of a Temporal in which no target was remediated before."""

    def are_unknown(self, _incident: IncidentReference) -> bool:
        return False

    async def ask(self, _incident: IncidentReference) -> None:
        """Return at once, because all earlier attempts are known."""

    def latest(self, _incident: IncidentReference) -> EarlierAttempt | None:
        return EarlierAttempt(number=0)
