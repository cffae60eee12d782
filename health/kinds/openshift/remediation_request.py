"""Remediation requests for Machines: what they contain, and whose they are (MHC A.2.5, rule 39).

The machine-api-operator makes the Machine the one owner and does not write down the check. Ours have the
incident as an annotation: it names the check, and a request with nothing but its Machine as an owner is one
that the operator made.
"""

from collections.abc import Mapping
from typing import Any

from health.kinds.openshift.check import KIND as CHECK
from health.kinds.openshift.machine import API_VERSION, GROUP, KIND, Machine
from health.model.references import CheckReference, Step, TargetReference, TemplateReference, check_of
from health.model.remediation_request import (
    ATTEMPT,
    INCIDENT,
    TARGET_UID,
    Attempt,
    InvalidTemplateError,
    RemediationRequest,
)
from objects.group_kind import GroupKind

CLONED_FROM_NAME = "machine.openshift.io/cloned-from-name"
CLONED_FROM_GROUP_KIND = "machine.openshift.io/cloned-from-groupkind"


def new_request(
    attempt: Attempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt`, to be created: spec.template of the template, for this Machine.

    Raises:
        InvalidTemplateError: the template has no spec.template.

    """
    contents = _contents(template, step.template)
    of_template = _mapping(contents.get("metadata"))
    metadata = {
        "name": machine.metadata.name,
        "namespace": machine.metadata.namespace,
        "labels": _mapping(of_template.get("labels")),
        "annotations": {**_mapping(of_template.get("annotations")), **_annotations(attempt, step.template)},
        "ownerReferences": [_owner(machine)],
    }
    return {
        **contents,
        "apiVersion": step.template.api_version,
        "kind": step.template.request_kind,
        "metadata": metadata,
    }


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check whose incident made it; None if none of its own namespace did."""
    check = check_of(request.metadata.annotations.get(INCIDENT, ""))
    ours = GroupKind(GROUP, CHECK), request.metadata.namespace
    if check is None or (check.group_kind, check.namespace) != ours:
        return None
    return check


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:
    """Whether the operator made it for that Machine: then it belongs to whichever check has the Machine."""
    owners = [(owner.api_version, owner.kind, owner.uid) for owner in request.metadata.owner_references]
    return INCIDENT not in request.metadata.annotations and owners == [(API_VERSION, KIND, target.uid)]


def _contents(template: Mapping[str, Any], reference: TemplateReference) -> Mapping[str, Any]:
    spec = template.get("spec")
    contents = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(contents, dict):
        raise InvalidTemplateError(
            f"invalid template {reference.namespace}/{reference.name}, didn't find spec.template"
        )
    return contents


def _annotations(attempt: Attempt, template: TemplateReference) -> dict[str, str]:
    ours = {
        CLONED_FROM_NAME: template.name,
        CLONED_FROM_GROUP_KIND: _group_kind(template),
        INCIDENT: attempt.incident.workflow_id,
        TARGET_UID: attempt.incident.target.uid,
    }
    return ours | ({ATTEMPT: str(attempt.number)} if attempt.number > 1 else {})


def _group_kind(template: TemplateReference) -> str:
    """`<Kind>.<group>`; the core group has no name."""
    group, slash, _ = template.api_version.partition("/")
    return f"{template.kind}.{group}" if slash else template.kind


def _owner(machine: Machine) -> dict[str, str]:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": machine.metadata.name,
        "uid": machine.metadata.uid,
    }


def _mapping(value: object) -> Mapping[str, Any]:
    """What is no mapping of labels or annotations is none at all to the machine-api-operator."""
    return value if isinstance(value, dict) else {}
