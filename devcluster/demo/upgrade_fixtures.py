"""The objects of the scenario `upgrade`: what signals upgrades, and a second check, over nothing."""

from devcluster.demo.fixtures import NAMESPACE, machine_health_check
from devcluster.simulation.resources import DEFINITIONS
from kube.resource import Object, Resource

SPARE = "spare"
TIMEOUT_SECONDS = 10
"""Long enough for a node to report again once the upgrade is over."""
CLUSTER_VERSIONS = Resource("config.openshift.io/v1", "ClusterVersion", "clusterversions", namespaced=False)
VERSION = "version"
SLOWER = {
    "unhealthyConditions": [
        {"type": "Ready", "status": status, "timeout": f"{TIMEOUT_SECONDS}s"}
        for status in ("Unknown", "False")
    ]
}
"""What the check of the Machines has in this scenario."""


def definition() -> Object:
    """Build the CRD of ClusterVersions, which OpenShift brings along."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": "clusterversions.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io",
            "scope": "Cluster",
            "names": {"plural": CLUSTER_VERSIONS.plural, "kind": CLUSTER_VERSIONS.kind},
            "versions": [version],
        },
    }


def cluster_version() -> Object:
    """Build the one ClusterVersion."""
    return {
        "apiVersion": CLUSTER_VERSIONS.api_version,
        "kind": CLUSTER_VERSIONS.kind,
        "metadata": {"name": VERSION},
        "spec": {},
    }


def spare_check() -> Object:
    """Build a check that selects no Machine."""
    check = machine_health_check()
    spec = check["spec"] | {"selector": {"matchLabels": {"selects": "nobody"}}}
    return check | {"metadata": {"name": SPARE, "namespace": NAMESPACE}, "spec": spec}
