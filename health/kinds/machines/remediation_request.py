"""Remediation requests for Machines of both APIs: their contents and their check (rule 39).

The operators do not record the check: they make the Machine the only owner of a request. Our requests name
the incident, and thereby the check, in an annotation; a request without it whose only owner is its Machine
was made by the operator. Annotations with the prefix of the API name the template.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class MachineRequests:
    """The requests of one kind of checks of Machines."""

    check: GroupKind
    api_versions: Collection[str]
    """The versions in which the operator may name a Machine as the owner."""

    def owner_of(self, request: RemediationRequest) -> CheckReference | None:
        """The check of the kind whose incident made it; None if no check of its namespace did."""
        check = check_of(request.metadata.annotations.get(INCIDENT, ""))
        if check is None or (check.group_kind, check.namespace) != (self.check, request.metadata.namespace):
            return None
        return check

    def is_unsigned_for(self, request: RemediationRequest, target: TargetReference) -> bool:
        """True if the operator made it for that Machine, without the flag of a controller.

        The request then belongs to the check that selects the Machine. The infrastructure of a Machine has
        the same name and owner, but with that flag, and is no request, also if a check names its template by
        mistake.
        """
        owners = request.metadata.owner_references
        if INCIDENT in request.metadata.annotations or len(owners) != 1:
            return False
        owner = owners[0]
        is_of_target = (owner.kind, owner.uid) == (target.kind, target.uid)
        return is_of_target and owner.api_version in self.api_versions and not owner.controller


def request_body(
    attempt: RemediationAttempt,
    template: TemplateReference,
    contents: Mapping[str, Any],
    machine: LinkedMachine,
    api_version: str,
) -> dict[str, Any]:
    """The request of `attempt`, named as its Machine, which owns it in this version.

    It is no controller, because a Machine does not manage its request.
    """
    named = machine.metadata
    of_contents = _mapping(contents.get("metadata"))
    group, slash, _ = template.api_version.partition("/")
    prefix = attempt.incident.target.group
    annotations = {
        **_mapping(of_contents.get("annotations")),
        f"{prefix}/cloned-from-name": template.name,
        # The core group has no name.
        f"{prefix}/cloned-from-groupkind": f"{template.kind}.{group}" if slash else template.kind,
        INCIDENT: attempt.incident.full_id,
        TARGET_UID: attempt.incident.target.uid,
    }
    if attempt.number > 1:
        annotations[ATTEMPT] = str(attempt.number)
    owner = {"apiVersion": api_version, "kind": KIND, "name": named.name, "uid": named.uid}
    return {
        **contents,
        "apiVersion": template.api_version,
        "kind": template.request_kind,
        "metadata": {
            "name": named.name,
            "namespace": attempt.incident.target.namespace,
            "labels": dict(_mapping(of_contents.get("labels"))),
            "annotations": annotations,
            "ownerReferences": [owner],
        },
    }


def _mapping(value: object) -> Mapping[str, Any]:
    """The mapping; any other value counts as no labels or annotations, as for the operators."""
    return value if isinstance(value, dict) else {}
