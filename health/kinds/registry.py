"""The kinds of health check that Paramedic knows. A new kind is a folder of its own and a name here.

Also the rule which other kinds can be remediation requests (ADR 42). A remediator brings a kind of its own,
as a CustomResourceDefinition in its own API group. Kubernetes reserves group names without a dot and those
that end in `.k8s.io`: no kind in these groups is a request. Kinds of targets and checks are not requests
either: only `act` deletes a Machine. Nor are kinds that a check names as templates although their names do
not end in `Template`: objects such as BareMetalHosts have the names of Nodes, and each would count as the
request of another owner.
"""

from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.model.references import TemplateReference
from objects.group_kind import GroupKind

CHECK_KINDS = {
    kind.group_kind: kind
    for kind in (NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK, CLUSTER_API_MACHINE_HEALTH_CHECK)
}
HANDLED_BY_DEFAULT = (NODE_HEALTH_CHECK,)
"""The kinds that a process handles without a setting."""
_TARGETS_AND_CHECKS = frozenset(
    kind for check in CHECK_KINDS.values() for kind in (check.group_kind, check.targets.group_kind)
)


def why_no_request(api_version: str, kind: str) -> str | None:
    """Why no object of this kind is a request; None: it may be one."""
    group = api_version.rpartition("/")[0]
    if "." not in group or group.endswith(".k8s.io"):
        return f"{GroupKind(group, kind)} is a kind of Kubernetes itself"
    if GroupKind(group, kind) in _TARGETS_AND_CHECKS:
        return f"{GroupKind(group, kind)} is a kind of target or check"
    return None


def why_no_requests_of(template: TemplateReference) -> str | None:
    """Why no request can be made from this template; None if one can."""
    why = why_no_request(template.api_version, template.request_kind)
    if why or template.request_kind != template.kind:
        return why
    return f"the name of the kind {template.kind} does not end in Template"
