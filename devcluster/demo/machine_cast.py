"""What the scenario `machine` puts on the stage: a MachineSet and a MachineHealthCheck over its Machines."""

from typing import Any

from devcluster.demo.cast import CHECK, CONDITION_SECONDS, NAMESPACE
from devcluster.simulation.resources import MACHINE_SETS, TEMPLATES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.resource import resource_of

MACHINES = 3
PROVISIONING_SECONDS = 2
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
LABELS = {"machine.openshift.io/cluster-api-machineset": CHECK}


def machine_set() -> dict[str, Any]:
    """Build what keeps the Machines, and replaces those that are deleted."""
    template = {"metadata": {"labels": LABELS}, "spec": {}}
    return {
        "apiVersion": MACHINE_SETS.api_version,
        "kind": MACHINE_SETS.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {"replicas": MACHINES, "selector": {"matchLabels": LABELS}, "template": template},
    }


def machine_health_check() -> dict[str, Any]:
    """Build the check: Machines whose nodes are not Ready for a few seconds, one of the three at a time."""
    return {
        "apiVersion": CHECKS.api_version,
        "kind": CHECKS.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "maxUnhealthy": "40%",
            "unhealthyConditions": [
                {"type": "Ready", "status": status, "timeout": f"{CONDITION_SECONDS}s"}
                for status in ("Unknown", "False")
            ],
        },
    }


def template_reference() -> dict[str, str]:
    """Build what the check says to have a remediator asked, where it would delete a Machine."""
    return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}
