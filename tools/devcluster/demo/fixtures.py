"""The manifests of the scenarios, and how they are created and removed.

`node` has a template and a NodeHealthCheck; the others have a MachineSet and a MachineHealthCheck for its
Machines. `node` and `machine` first remove the check of the other. `upgrade` has also a ClusterVersion, and a
second check, which selects nothing. Functions that call the API server raise KubernetesError.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from devcluster.simulation.machine_api import SET_NAME, ClusterApi, MachineApi, OpenShiftApi
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
from devcluster.workload_cluster import CLUSTER
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.errors import AlreadyExists, NotFound
from kube.resource import Object, Resource, resource_of

NODES = 6
CHECK = "demo"
SPARE = "spare"
"""The second check of the scenario `upgrade`."""
NAMESPACE = "default"
CONDITION_SECONDS = 5
UPGRADE_CONDITION_SECONDS = 10
"""In the scenario `upgrade`: long enough for a node to report again after the end of the upgrade."""
POWER_OFF_SECONDS = 2
MACHINES = 3
PROVISIONING_SECONDS = 2
CHECKS = resource_of(MACHINE_HEALTH_CHECK)
SET_LABEL = "machine.openshift.io/cluster-api-machineset"
API = ClusterApi("v1beta2")
CLUSTER_VERSIONS = Resource("config.openshift.io/v1", "ClusterVersion", "clusterversions", namespaced=False)
VERSION = "version"


async def ensure(client: Client, resource: Resource, body: Object, namespace: str = "") -> None:
    """Create an object unless it exists; only a missing one needs the right to create."""
    try:
        await client.get(resource, body["metadata"]["name"], namespace)
    except NotFound:
        with suppress(AlreadyExists):
            await client.create(resource, body, namespace)


async def remove(client: Client, resource: Resource, name: str, namespace: str = "") -> None:
    """Delete an object that an earlier demo may have left."""
    with suppress(NotFound):
        await client.delete(resource, name, namespace)


@dataclass(frozen=True, kw_only=True)
class NodeFixtures:
    """The objects of the scenario `node` in one cluster."""

    check: str
    """The name of the check and of its template."""
    namespace: str
    """The namespace of the template and of the requests."""
    nodes: int
    selector: Object
    """Selects the nodes of the check."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the check."""
    rivals: tuple[str, ...] = ()
    """MachineHealthChecks to remove first: while there is one, every NodeHealthCheck is disabled."""

    def template(self) -> Object:
        return {
            "apiVersion": TEMPLATES.api_version,
            "kind": TEMPLATES.kind,
            "metadata": {"name": self.check, "namespace": self.namespace},
            "spec": {"template": {"spec": {"powerOffSeconds": POWER_OFF_SECONDS}}},
        }

    def node_health_check(self) -> Object:
        """The check: selected nodes not Ready for a few seconds, as long as most are healthy."""
        return {
            "apiVersion": NODE_HEALTH_CHECKS.api_version,
            "kind": NODE_HEALTH_CHECKS.kind,
            "metadata": {"name": self.check, "labels": dict(self.labels)},
            "spec": {
                "selector": self.selector,
                "minHealthy": "51%",
                "unhealthyConditions": _not_ready(duration=f"{CONDITION_SECONDS}s"),
                "remediationTemplate": template_reference(self.check) | {"namespace": self.namespace},
            },
        }


OWN_CLUSTER = NodeFixtures(
    check=CHECK,
    namespace=NAMESPACE,
    nodes=NODES,
    selector={"matchExpressions": [{"key": "node-role.kubernetes.io/worker", "operator": "Exists"}]},
    rivals=(CHECK, SPARE),
)
"""The objects in the control plane that the demo starts."""


def template_reference(name: str = CHECK) -> Object:
    """The reference that makes the check create requests instead of deleting Machines."""
    return {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "name": name}


def _not_ready(**lasting: object) -> list[Object]:
    """The conditions of a node that does not report, or reports a problem, for that long."""
    return [{"type": "Ready", "status": status, **lasting} for status in ("Unknown", "False")]


def _object(resource: Resource, spec: Object, name: str = CHECK) -> Object:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def machine_set(api: MachineApi, label: str, **more: object) -> Object:
    """A MachineSet whose Machines have that label, with `more` in its spec."""
    labels = {label: CHECK}
    template = {"metadata": {"labels": labels}, "spec": {}}
    spec = {"replicas": MACHINES, "selector": {"matchLabels": labels}, "template": template}
    return _object(api.machine_sets, spec | more)


def machine_health_check(
    name: str = CHECK, selected: str = CHECK, seconds: int = CONDITION_SECONDS
) -> Object:
    """The check on OpenShift: nodes not Ready for some seconds, at most one of the three at a time."""
    spec = {
        "selector": {"matchLabels": {SET_LABEL: selected}},
        "maxUnhealthy": "40%",
        "unhealthyConditions": _not_ready(timeout=f"{seconds}s"),
    }
    return _object(CHECKS, spec, name)


def spare_check() -> Object:
    """The second check of the scenario `upgrade`."""
    return machine_health_check(SPARE, selected="nobody")


def cluster_api_health_check() -> Object:
    """The same check for Cluster API in v1beta2."""
    spec = {
        "clusterName": CLUSTER,
        "selector": {"matchLabels": {SET_NAME: CHECK}},
        "checks": {"unhealthyNodeConditions": _not_ready(timeoutSeconds=CONDITION_SECONDS)},
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}},
    }
    return _object(API.machine_health_checks, spec)


def cluster_version() -> tuple[Object, Object]:
    """The CRD of ClusterVersions, which OpenShift has, and a ClusterVersion."""
    definition, version = yaml.safe_load_all(Path(__file__).with_name("cluster_version.yaml").read_text())
    return definition, version


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
