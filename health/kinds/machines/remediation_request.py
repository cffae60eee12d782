"""Remediation requests for Machines of both APIs: their contents and their check (rule 39).

The operators do not record the check: they make the Machine the only owner of a request. Our requests name
the incident, and thereby the check, in an annotation; a request without it whose only owner is its Machine
was made by the operator. Annotations with the prefix of the API name the template.
"""

from collections.abc import Collection, Mapping
from typing import Any

from health.kinds.machines.machine import KIND, LinkedMachine
from health.model.references import CheckReference, TargetReference, TemplateReference, check_of
from health.model.remediation_request import (
    ATTEMPT,
    INCIDENT,
    TARGET_UID,
    RemediationAttempt,
    RemediationRequest,
)
from objects.group_kind import GroupKind


def spec_template(template: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """spec.template of a template object; None without one."""
    spec = template.get("spec")
    contents = spec.get("template") if isinstance(spec, dict) else None
    return contents if isinstance(contents, dict) else None


def request_body(
    attempt: RemediationAttempt,
    template: TemplateReference,
    contents: Mapping[str, Any],
    owner: Mapping[str, str],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """The request of `attempt`, named as its owner, with these labels added to those of the template."""
    of_contents = _mapping(contents.get("metadata"))
    metadata = {
        "name": owner["name"],
        "namespace": attempt.incident.target.namespace,
        "labels": {**_mapping(of_contents.get("labels")), **labels},
        "annotations": {**_mapping(of_contents.get("annotations")), **_annotations(attempt, template)},
        "ownerReferences": [dict(owner)],
    }
    return {
        **contents,
        "apiVersion": template.api_version,
        "kind": template.request_kind,
        "metadata": metadata,
    }


def owner_reference(machine: LinkedMachine, api_version: str) -> dict[str, str]:
    """The reference to the owner of a request; no controller, because a Machine does not manage it."""
    named = machine.metadata
    return {"apiVersion": api_version, "kind": KIND, "name": named.name, "uid": named.uid}


def owner_of(request: RemediationRequest, kind: GroupKind) -> CheckReference | None:
    """The check of that kind whose incident made it; None if no check of its namespace did."""
    check = check_of(request.metadata.annotations.get(INCIDENT, ""))
    if check is None or (check.group_kind, check.namespace) != (kind, request.metadata.namespace):
        return None
    return check


def is_unsigned_for(
    request: RemediationRequest, target: TargetReference, api_versions: Collection[str]
) -> bool:
    """True if the operator made it for that Machine, without the flag of a controller.

    The request then belongs to the check that selects the Machine. The infrastructure of a Machine has the
    same name and owner, but with that flag, and is no request, also if a check names its template by mistake.
    """
    owners = request.metadata.owner_references
    if INCIDENT in request.metadata.annotations or len(owners) != 1:
        return False
    owner = owners[0]
    is_of_target = owner.api_version in api_versions and (owner.kind, owner.uid) == (target.kind, target.uid)
    return is_of_target and not owner.controller


def _annotations(attempt: RemediationAttempt, template: TemplateReference) -> dict[str, str]:
    prefix = attempt.incident.target.group
    ours = {
        f"{prefix}/cloned-from-name": template.name,
        f"{prefix}/cloned-from-groupkind": _group_kind(template),
        INCIDENT: attempt.incident.full_id,
        TARGET_UID: attempt.incident.target.uid,
    }
    return ours | ({ATTEMPT: str(attempt.number)} if attempt.number > 1 else {})


def _group_kind(template: TemplateReference) -> str:
    """`<Kind>.<group>`; the core group has no name."""
    group, slash, _ = template.api_version.partition("/")
    return f"{template.kind}.{group}" if slash else template.kind


def _mapping(value: object) -> Mapping[str, Any]:
    """The mapping; any other value counts as no labels or annotations, as for the operators."""
    return value if isinstance(value, dict) else {}
