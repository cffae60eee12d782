"""The manifests of the scenarios `node` and `machine`, and how they are created and removed.

`node` has a template and a NodeHealthCheck, `machine` a MachineSet and a MachineHealthCheck for its Machines;
each first removes the check of the other. Functions that call the API server raise KubernetesError.
"""

from contextlib import suppress
from typing import Any

from devcluster.simulation.resources import MACHINE_SETS, NODE_HEALTH_CHECKS, TEMPLATES
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import Object, Resource, resource_of

NODES = 6
CHECK = "demo"
NAMESPACE = "default"
CONDITION_SECONDS = 5
POWER_OFF_SECONDS = 2
MACHINES = 3
PROVISIONING_SECONDS = 2
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
LABELS = {"machine.openshift.io/cluster-api-machineset": CHECK}


async def ensure(client: Client, resource: Resource, body: Object, namespace: str = "") -> None:
    """Create an object; one of an earlier demo is reused."""
    with suppress(AlreadyExists):
        await client.create(resource, body, namespace)


async def remove(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    """Delete an object that an earlier demo may have left."""
    with suppress(NotFound):
        await client.delete(resource, name, namespace)


def template() -> dict[str, Any]:
    return {
        "apiVersion": TEMPLATES.api_version,
        "kind": TEMPLATES.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {"template": {"spec": {"powerOffSeconds": POWER_OFF_SECONDS}}},
    }


def node_health_check() -> dict[str, Any]:
    """The check: workers not Ready for a few seconds, as long as most are healthy."""
    return {
        "apiVersion": NODE_HEALTH_CHECKS.api_version,
        "kind": NODE_HEALTH_CHECKS.kind,
        "metadata": {"name": CHECK},
        "spec": {
            "selector": {
                "matchExpressions": [{"key": "node-role.kubernetes.io/worker", "operator": "Exists"}]
            },
            "minHealthy": "51%",
            "unhealthyConditions": [
                {"type": "Ready", "status": status, "duration": f"{CONDITION_SECONDS}s"}
                for status in ("Unknown", "False")
            ],
            "remediationTemplate": {
                "apiVersion": TEMPLATES.api_version,
                "kind": TEMPLATES.kind,
                "name": CHECK,
                "namespace": NAMESPACE,
            },
        },
    }


def machine_set() -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {}}
    return {
        "apiVersion": MACHINE_SETS.api_version,
        "kind": MACHINE_SETS.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {"replicas": MACHINES, "selector": {"matchLabels": LABELS}, "template": template},
    }


def machine_health_check() -> dict[str, Any]:
    """The check: nodes not Ready for a few seconds, at most one of the three Machines at a time."""
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
    """The reference that makes the check create requests instead of deleting Machines."""
    return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}
