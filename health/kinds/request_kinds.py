"""Decides which kinds can be remediation requests. Pure (ADR 42).

A remediator brings a kind of its own, as a CustomResourceDefinition in its own API group. Kubernetes
reserves group names without a dot and those that end in `.k8s.io`: no kind in these groups is a request.
Kinds of targets and checks are not requests either: only `act` deletes a Machine. Nor are kinds that a check
names as templates although their names do not end in `Template`: objects such as BareMetalHosts have the
names of Nodes, and each would count as the request of another owner.
"""

from health.kinds.registry import CHECK_KINDS
from health.model.references import TemplateReference
from objects.group_kind import GroupKind

_TARGETS_AND_CHECKS = frozenset(
    kind for check in CHECK_KINDS.values() for kind in (check.group_kind, check.targets.group_kind)
)


def why_no_request(api_version: str, kind: str) -> str:
    """Why no object of this kind is a request; "": it may be one."""
    group = api_version.rpartition("/")[0]
    if "." not in group or group.endswith(".k8s.io"):
        return f"{GroupKind(group, kind)} is a kind of Kubernetes itself"
    if GroupKind(group, kind) in _TARGETS_AND_CHECKS:
        return f"{GroupKind(group, kind)} is a kind of target or check"
    return ""


def why_no_requests_of(template: TemplateReference) -> str:
    """Why no request can be made from this template; "" if one can."""
    why = why_no_request(template.api_version, template.request_kind)
    if why or template.request_kind != template.kind:
        return why
    return f"the name of the kind {template.kind} does not end in Template"
