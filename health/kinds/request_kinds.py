"""Which kinds can be remediation requests. Pure (ADR 42).

Remediators bring a kind of their own, as a CustomResourceDefinition in an API group of their own. Kubernetes
keeps group names without a dot, and those that end in `.k8s.io`, for itself. Nothing in these groups is a
request, and neither is a target or a check: a Machine is deleted by `act` alone.
"""

from health.kinds.registry import CHECK_KINDS
from objects.group_kind import GroupKind

_TARGETS_AND_CHECKS = frozenset(
    kind for check in CHECK_KINDS.values() for kind in (check.group_kind, check.targets.group_kind)
)


def why_no_request(api_version: str, kind: str) -> str:
    """Why no object of this kind is a request; "" where one may be."""
    group = api_version.rpartition("/")[0]
    if "." not in group or group.endswith(".k8s.io"):
        return f"{GroupKind(group, kind)} is a kind of Kubernetes itself"
    if GroupKind(group, kind) in _TARGETS_AND_CHECKS:
        return f"{GroupKind(group, kind)} is a kind of target or check"
    return ""
