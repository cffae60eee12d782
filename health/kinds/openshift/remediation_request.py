"""Remediation requests for Machines of OpenShift: their contents and their check (MHC A.2.5)."""

from collections.abc import Mapping
from typing import Any

from health.kinds.machines import remediation_request as machine_request
from health.kinds.openshift.check import KIND as CHECK
from health.kinds.openshift.machine import API_VERSION, GROUP, Machine
from health.model.references import CheckReference, Step, TargetReference, TemplateReference
from health.model.remediation_request import InvalidTemplateError, RemediationAttempt, RemediationRequest
from objects.group_kind import GroupKind


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine.

    Raises:
        InvalidTemplateError: the template has no spec.template.

    """
    contents = _contents(template, step.template)
    owner = machine_request.owner_reference(machine, API_VERSION)
    return machine_request.request_body(attempt, step.template, contents, owner, labels={})


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check whose incident made it; None if no check of its namespace did."""
    return machine_request.owner_of(request, GroupKind(GROUP, CHECK))


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:
    """True if the machine-api-operator made it for that Machine."""
    return machine_request.is_unsigned_for(request, target, (API_VERSION,))


def _contents(template: Mapping[str, Any], reference: TemplateReference) -> Mapping[str, Any]:
    contents = machine_request.spec_template(template)
    if contents is None:
        raise InvalidTemplateError(
            f"invalid template {reference.namespace}/{reference.name}, didn't find spec.template"
        )
    return contents
