"""The objects of the scenario `cluster-api`: a MachineSet of the workload cluster, and a check in v1beta2."""

from devcluster.demo.fixtures import CHECK, CONDITION_SECONDS, MACHINES, NAMESPACE
from devcluster.dev_cluster_api import CLUSTER
from devcluster.simulation.cluster_api import SET_NAME, ClusterApi
from kube.resource import Object

API = ClusterApi("v1beta2")
SELECTOR = {"matchLabels": {SET_NAME: CHECK}}


def machine_set() -> Object:
    """The MachineSet, which deletes and replaces Machines that are marked for their owner."""
    return {
        "apiVersion": API.machine_sets.api_version,
        "kind": API.machine_sets.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {
            "clusterName": CLUSTER,
            "replicas": MACHINES,
            "selector": SELECTOR,
            "template": {"metadata": {"labels": SELECTOR["matchLabels"]}, "spec": {}},
        },
    }


def machine_health_check() -> Object:
    """The check: nodes not Ready for a few seconds, at most one of the three Machines at a time."""
    conditions = [
        {"type": "Ready", "status": status, "timeoutSeconds": CONDITION_SECONDS}
        for status in ("Unknown", "False")
    ]
    return {
        "apiVersion": API.machine_health_checks.api_version,
        "kind": API.machine_health_checks.kind,
        "metadata": {"name": CHECK, "namespace": NAMESPACE},
        "spec": {
            "clusterName": CLUSTER,
            "selector": SELECTOR,
            "checks": {"unhealthyNodeConditions": conditions},
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}},
        },
    }
