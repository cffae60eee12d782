"""NodeHealthCheck as one of the kinds of health check.

A request belongs to the check that owns it (NHC 2.4/4, rule 39); the NodeHealthCheck operator also makes its
check an owner of each request. The Event for a deleted request has the reason and words of a Node that waits
without such a loss.
"""

from health.gate.back_off import LostRequest
from health.kinds.check_kind import CheckKind, FailingCondition
from health.kinds.nodehealthcheck.check import API_VERSION, GROUP, KIND, VERSION, NodeHealthCheck
from health.kinds.nodehealthcheck.events import PREFIX, SKIPPED, events, skipped_because_of
from health.kinds.nodehealthcheck.status import held_since, status_patch, stored_requests, stored_storm
from health.model.node import NODES
from health.model.references import CheckReference
from health.model.remediation_request import RemediationRequest
from objects.event import Event, InvolvedObject, Severity


def request_lost(lost: LostRequest) -> Event:
    """The Event that the Node waits after the loss of its request."""
    check, node = lost.incident.check, lost.incident.target.name
    message = f"{PREFIX}{skipped_because_of(lost.words, node)}"
    subject = InvolvedObject(
        api_version=API_VERSION, kind=KIND, namespace=check.namespace, name=check.name, uid=lost.check_uid
    )
    return Event(seed=lost.seed, severity=Severity.WARNING, reason=SKIPPED, message=message, subject=subject)


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check that owns it; None without one."""
    name = request.owner(KIND, API_VERSION)
    return CheckReference(kind=KIND, group=GROUP, name=name) if name else None


NODE_HEALTH_CHECK = CheckKind(
    group=GROUP,
    kind=KIND,
    plural="nodehealthchecks",
    versions=(VERSION,),
    is_namespaced=False,
    targets=NODES,
    parse=NodeHealthCheck.parse,
    status_patch=status_patch,
    events=events,
    request_lost=request_lost,
    component="NodeHealthCheck",
    stored_requests=stored_requests,
    stored_storm=stored_storm,
    held_since=held_since,
    failing_conditions=(
        FailingCondition(type="Disabled", status="True", finding="CheckDisabled", words="is disabled"),
    ),
    confirmation_roles=("deploy/base/rbac/confirmations.yaml",),
    webhook_roles=("deploy/components/webhook/rbac.yaml",),
    operator="NodeHealthCheck operator",
    operator_lease="e1f13584.medik8s.io",
    owner_of=owner_of,
)
