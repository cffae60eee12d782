"""Remediation requests for Machines of Cluster API: their contents and their check (CAPI B.2.5).

A template without spec.template is allowed: its request only names the Machine.
"""

from collections.abc import Mapping
from typing import Any

from health.kinds.clusterapi.cluster import CHECK
from health.kinds.clusterapi.group import CLUSTER_NAME
from health.kinds.clusterapi.machine import MACHINES, Machine
from health.kinds.machines.remediation_request import MachineRequests, request_body, spec_template
from health.model.references import Step
from health.model.remediation_request import RemediationAttempt

REQUESTS = MachineRequests(check=CHECK, api_versions=MACHINES.api_versions)


def new_request(
    attempt: RemediationAttempt, step: Step, *, template: Mapping[str, Any], machine: Machine
) -> dict[str, Any]:
    """The request of `attempt` to create: spec.template of the template, for this Machine."""
    contents = spec_template(template) or {}
    body = request_body(attempt, step.template, contents, machine, machine.api_version)
    body["metadata"]["labels"][CLUSTER_NAME] = machine.cluster_name
    return body
