"""Remediation requests for Machines of Cluster API: their contents and their check (CAPI B.2.5).

A template without spec.template is allowed: its request only names the Machine.
"""

from collections.abc import Mapping
from typing import Any

from health.kinds.clusterapi.cluster import CHECK
from health.kinds.clusterapi.group import CLUSTER_NAME
from health.kinds.clusterapi.machine import MACHINES, Machine
from health.kinds.machines import remediation_request as machine_request
from health.model.references import CheckReference, Step, TargetReference
from health.model.remediation_request import RemediationAttempt, RemediationRequest


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine."""
    contents = machine_request.spec_template(template) or {}
    labels = {CLUSTER_NAME: machine.cluster_name}
    owner = machine_request.owner_reference(machine, machine.api_version)
    return machine_request.request_body(attempt, step.template, contents, owner, labels)


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check whose incident made it; None if no check of its namespace did."""
    return machine_request.owner_of(request, CHECK)


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:
    """True if Cluster API's controller made it for that Machine, in any version."""
    return machine_request.is_unsigned_for(request, target, MACHINES.api_versions)
