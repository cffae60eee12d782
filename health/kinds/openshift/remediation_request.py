"""Remediation requests for Machines of OpenShift: their contents and their check (MHC A.2.5)."""

from collections.abc import Mapping
from typing import Any

from health.kinds.machines.remediation_request import MachineRequests, request_body, spec_template
from health.kinds.openshift.check import KIND as CHECK
from health.kinds.openshift.machine import API_VERSION, GROUP, Machine
from health.model.references import Step
from health.model.remediation_request import InvalidTemplateError, RemediationAttempt
from objects.group_kind import GroupKind

REQUESTS = MachineRequests(check=GroupKind(GROUP, CHECK), api_versions=(API_VERSION,))


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine.

    Raises:
        InvalidTemplateError: the template has no spec.template.

    """
    contents, named = spec_template(template), step.template
    if contents is None:
        raise InvalidTemplateError(
            f"invalid template {named.namespace}/{named.name}, didn't find spec.template"
        )
    return request_body(attempt, named, contents, machine, API_VERSION)
