"""The objects of the demo: manifests of both scenarios, and how they are created and taken away.

`node` has a template and a NodeHealthCheck, `machine` a MachineSet and a MachineHealthCheck over its
Machines; each begins by removing those of the other. What talks to the API server raises KubernetesError.
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
    """Create an object; that of an earlier demo is gone on with."""
    with suppress(AlreadyExists):
        await client.create(resource, body, namespace)


async def remove(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    """Delete an object that an earlier demo may have left."""
    with suppress(NotFound):
        await client.delete(resource, name, namespace)


def template() -> dict[str, Any]:
    """Build the template of the requests to the demo remediator."""
    return {
        "apiVersion": TEMPLATES.api_version,
        "kind": TEMPLATES.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {"template": {"spec": {"powerOffSeconds": POWER_OFF_SECONDS}}},
    }


def node_health_check() -> dict[str, Any]:
    """Build the check: workers that are not Ready for a few seconds, while most of them are healthy."""
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
