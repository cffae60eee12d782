"""What the demo puts on the stage: one template and one NodeHealthCheck. Names and manifests."""

from typing import Any

from devcluster.simulation.resources import TEMPLATES
from kube.resource import NODE_HEALTH_CHECKS

NODES = 6
CHECK = "demo"
NAMESPACE = "default"
CONDITION_SECONDS = 5
POWER_OFF_SECONDS = 2


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
