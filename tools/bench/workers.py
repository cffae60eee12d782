"""The check and the Nodes of the cases that run in one process: `workers`, which selects unhealthy Nodes."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from objects.durations import in_words
from objects.timestamps import stamp

CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
KIND = CHECK_KINDS[CHECK.group_kind]
DURATION = timedelta(minutes=5)
"""How long a Node is Unknown before the check calls it expired."""
_TEMPLATE = {"apiVersion": "example.com/v1", "kind": "RebootTemplate", "namespace": "a", "name": "reboot"}


def check_object(created: datetime, min_healthy: int | str = 0) -> dict[str, object]:
    return {
        "apiVersion": KIND.api_version,
        "kind": CHECK.kind,
        "metadata": {"name": CHECK.name, "uid": "u", "generation": 1, "creationTimestamp": stamp(created)},
        "spec": {
            "selector": {"matchLabels": {"role": "worker"}},
            "minHealthy": min_healthy,
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": in_words(DURATION)}],
            "remediationTemplate": _TEMPLATE,
        },
    }


def unknown_node(
    name: str, created: datetime, failed: datetime, labels: Mapping[str, str] | None = None
) -> dict[str, object]:
    """A Node that has been Unknown since `failed`."""
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": stamp(created),
        "labels": {"role": "worker", **(labels or {})},
    }
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": stamp(failed)}
    return {"metadata": metadata, "status": {"conditions": [condition]}}
