"""Remediation requests for Machines of Cluster API: what they contain, and whose they are (CAPI B.2.5).

A template without spec.template is tolerated: its request says nothing but for which Machine it is.
"""

from collections.abc import Mapping
from typing import Any

from health.kinds.clusterapi.cluster import CHECK
from health.kinds.clusterapi.group import CLUSTER_NAME
from health.kinds.clusterapi.machine import MACHINES, Machine
from health.kinds.machines import remediation_request as machine_request
from health.kinds.machines.machine import KIND
from health.model.references import CheckReference, Step, TargetReference
from health.model.remediation_request import Attempt, RemediationRequest


def new_request(
    attempt: Attempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt`, to be created: spec.template of the template, for this Machine."""
    contents = machine_request.spec_template(template) or {}
    labels = {CLUSTER_NAME: machine.cluster_name}
    return machine_request.request_body(attempt, step.template, contents, _owner(machine), labels)


def owner_of(request: RemediationRequest) -> CheckReference | None:
    """The check whose incident made it; None if none of its own namespace did."""
    return machine_request.owner_of(request, CHECK)


def is_unsigned_for(request: RemediationRequest, target: TargetReference) -> bool:
    """Whether Cluster API's controller made it for that Machine, in whatever version it saw it."""
    return machine_request.is_unsigned_for(request, target, MACHINES.api_versions)


def _owner(machine: Machine) -> dict[str, str]:
    """In the version that is served, and not as its controller: the Machine does nothing with it."""
    return {
        "apiVersion": machine.api_version,
        "kind": KIND,
        "name": machine.metadata.name,
        "uid": machine.metadata.uid,
    }
