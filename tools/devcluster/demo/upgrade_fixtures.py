"""The objects of the scenario `upgrade`: a ClusterVersion, and a second check, which selects nothing."""

from devcluster.demo.fixtures import NAMESPACE, SPARE, machine_health_check
from devcluster.simulation.resources import DEFINITIONS
from kube.resource import Object, Resource

TIMEOUT_SECONDS = 10
"""Long enough for a node to report again after the end of the upgrade."""
CLUSTER_VERSIONS = Resource("config.openshift.io/v1", "ClusterVersion", "clusterversions", namespaced=False)
VERSION = "version"
SLOWER = {
    "unhealthyConditions": [
        {"type": "Ready", "status": status, "timeout": f"{TIMEOUT_SECONDS}s"}
        for status in ("Unknown", "False")
    ]
}
"""The conditions of the check of the Machines in this scenario."""


def definition() -> Object:
    """The CRD of ClusterVersions, which OpenShift has."""
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
    return {
        "apiVersion": CLUSTER_VERSIONS.api_version,
        "kind": CLUSTER_VERSIONS.kind,
        "metadata": {"name": VERSION},
        "spec": {},
    }


def spare_check() -> Object:
    check = machine_health_check()
    spec = check["spec"] | {"selector": {"matchLabels": {"selects": "nobody"}}}
    return check | {"metadata": {"name": SPARE, "namespace": NAMESPACE}, "spec": spec}
