"""NodeHealthCheck as one of the kinds of health check, with its requests: what remediators read (NHC 2.4/3).

A request belongs to the check that owns it (NHC 2.4/4, rule 39); the NodeHealthCheck operator also makes its
check an owner of each request. The Event for a deleted request has the reason and words of a Node that waits
without such a loss.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from health.gate.back_off import LostRequest
from health.kinds.check_kind import CheckKind, FailingCondition
from health.kinds.nodehealthcheck.check import API_VERSION, GROUP, KIND, VERSION, NodeHealthCheck
from health.kinds.nodehealthcheck.events import PREFIX, SKIPPED, events, skipped_because_of
from health.kinds.nodehealthcheck.status import held_since, status_patch, stored_requests, stored_storm
from health.model.node import NODES, Node
from health.model.references import CheckReference, Step
from health.model.remediation_request import (
    ATTEMPT,
    INCIDENT,
    MULTIPLE_TEMPLATES,
    NODE_NAME,
    TARGET_UID,
    TEMPLATE_NAME,
    RemediationAttempt,
    RemediationRequest,
    template_contents,
)
from objects.event import Event, InvolvedObject, Severity
from objects.metadata import OwnerReference

PART_OF = {"app.kubernetes.io/part-of": "node-healthcheck-controller"}
_LONGEST_NAME = 253
_HASH_LENGTH = 10


def new_request(  # noqa: PLR0913  each is one of the live objects that the contents are made from
    attempt: RemediationAttempt,
    step: Step,
    *,
    template: Mapping[str, Any],
    check: OwnerReference,
    machine: OwnerReference | None,
    node: Node,
) -> dict[str, Any]:
    owners = [check.model_dump(by_alias=True)]
    if machine is not None:
        owners.append(machine.model_dump(by_alias=True, exclude={"controller"}))
    metadata = {
        "name": request_name(attempt, template),
        # The generateName that the operator would use for a name with a hash (NHC 2.4/3).
        **({"generateName": _prefix(attempt)} if is_one_of_several(template) else {}),
        "namespace": step.template.namespace,
        "labels": PART_OF,
        "annotations": {
            NODE_NAME: node.metadata.name,
            TEMPLATE_NAME: step.template.name,
            INCIDENT: attempt.incident.full_id,
            TARGET_UID: node.metadata.uid,
        }
        | ({ATTEMPT: str(attempt.number)} if attempt.number > 1 else {}),
        "ownerReferences": owners,
    }
    return {
        "apiVersion": step.template.api_version,
        "kind": step.template.request_kind,
        "metadata": metadata,
        "spec": template_contents(template, step),
    }


def request_name(attempt: RemediationAttempt, template: Mapping[str, Any]) -> str:
    """The target's name, with a hash if the template allows several requests for one target.

    The server never generates it, because a repeated attempt must find its own request. The hash uses the
    template and not the number of the step, because an edit of the check changes the numbers.
    """
    if not is_one_of_several(template):
        return attempt.incident.target.name
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{template['metadata']['name']}"
    suffix = hashlib.sha256(seed.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{_prefix(attempt)}{suffix}"


def _prefix(attempt: RemediationAttempt) -> str:
    # A cut name must not end in a character that is invalid before a hyphen.
    return f"{attempt.incident.target.name[: _LONGEST_NAME - _HASH_LENGTH - 1].rstrip('.-')}-"


def is_one_of_several(template: Mapping[str, Any]) -> bool:
    return MULTIPLE_TEMPLATES in (template["metadata"].get("annotations") or {})


def request_lost(lost: LostRequest) -> Event:
    check, node = lost.incident.check, lost.incident.target.name
    message = f"{PREFIX}{skipped_because_of(lost.words, node)}"
    subject = InvolvedObject(
        api_version=API_VERSION, kind=KIND, namespace=check.namespace, name=check.name, uid=lost.check_uid
    )
    return Event(seed=lost.seed, severity=Severity.WARNING, reason=SKIPPED, message=message, subject=subject)


def owner_of(request: RemediationRequest) -> CheckReference | None:
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
