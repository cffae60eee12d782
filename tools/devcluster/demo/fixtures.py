"""The manifests of the scenarios, and how they are created and removed.

`node` has a template and a NodeHealthCheck; the others have a MachineSet and a MachineHealthCheck for its
Machines. `node` and `machine` first remove the check of the other. Functions that call the API server raise
KubernetesError.
"""

from contextlib import suppress
from dataclasses import dataclass

from devcluster.dev_cluster_api import CLUSTER
from devcluster.simulation.cluster_api import SET_NAME, ClusterApi
from devcluster.simulation.machine_api import MachineApi
from devcluster.simulation.openshift_api import OpenShiftApi
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
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
SET_LABEL = "machine.openshift.io/cluster-api-machineset"
API = ClusterApi("v1beta2")


async def ensure(client: Client, resource: Resource, body: Object, namespace: str = "") -> None:
    """Create an object; one of an earlier demo is reused."""
    with suppress(AlreadyExists):
        await client.create(resource, body, namespace)


async def remove(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    """Delete an object that an earlier demo may have left."""
    with suppress(NotFound):
        await client.delete(resource, name, namespace)


def template() -> Object:
    return _object(TEMPLATES, {"template": {"spec": {"powerOffSeconds": POWER_OFF_SECONDS}}})


def node_health_check() -> Object:
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


def machine_set(api: MachineApi, label: str, **more: object) -> Object:
    """A MachineSet whose Machines have that label, with `more` in its spec."""
    labels = {label: CHECK}
    template = {"metadata": {"labels": labels}, "spec": {}}
    spec = {"replicas": MACHINES, "selector": {"matchLabels": labels}, "template": template}
    return _object(api.machine_sets, spec | more)


def machine_health_check() -> Object:
    """The check on OpenShift: nodes not Ready for a few seconds, at most one of the three at a time."""
    return _object(
        CHECKS,
        {
            "selector": {"matchLabels": {SET_LABEL: CHECK}},
            "maxUnhealthy": "40%",
            "unhealthyConditions": [
                {"type": "Ready", "status": status, "timeout": f"{CONDITION_SECONDS}s"}
                for status in ("Unknown", "False")
            ],
        },
    )


def cluster_api_health_check() -> Object:
    """The same check for Cluster API in v1beta2."""
    conditions = [
        {"type": "Ready", "status": status, "timeoutSeconds": CONDITION_SECONDS}
        for status in ("Unknown", "False")
    ]
    return _object(
        API.machine_health_checks,
        {
            "clusterName": CLUSTER,
            "selector": {"matchLabels": {SET_NAME: CHECK}},
            "checks": {"unhealthyNodeConditions": conditions},
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}},
        },
    )


def _object(resource: Resource, spec: Object) -> Object:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": spec,
    }


def template_reference() -> dict[str, str]:
    """The reference that makes the check create requests instead of deleting Machines."""
    return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": CHECK}


@dataclass(frozen=True, kw_only=True)
class MachineFixtures:
    """The objects of the demo in one machine API."""

    api: MachineApi
    checks: Resource
    selector: str
    """Selects the Machines of the MachineSet."""
    machine_set: Object
    check: Object


OPENSHIFT = MachineFixtures(
    api=OpenShiftApi(),
    checks=CHECKS,
    selector=f"{SET_LABEL}={CHECK}",
    machine_set=machine_set(OpenShiftApi(), SET_LABEL),
    check=machine_health_check(),
)
CLUSTER_API = MachineFixtures(
    api=API,
    checks=API.machine_health_checks,
    selector=f"{SET_NAME}={CHECK}",
    machine_set=machine_set(API, SET_NAME, clusterName=CLUSTER),
    check=cluster_api_health_check(),
)
