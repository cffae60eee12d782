"""How a kind is written in ids of workflows, search attributes, metrics, and names and holders of Leases.

With its group, `MachineHealthCheck.cluster.x-k8s.io`, so that no two kinds are written alike. The kinds that
were there before another group had one of the same name are written without, and so is what is of no group:
a kind that is written alone is always that one. No kind is added to these.
"""

from objects.group_kind import GroupKind

_WRITTEN_ALONE = {
    one.kind: one
    for one in (
        GroupKind("remediation.medik8s.io", "NodeHealthCheck"),
        GroupKind("machine.openshift.io", "MachineHealthCheck"),
        GroupKind("machine.openshift.io", "Machine"),
    )
}


def kind_name(kind: GroupKind) -> str:
    """How `kind` is written."""
    return kind.kind if kind == kind_named(kind.kind) else str(kind)


def kind_named(name: str) -> GroupKind:
    """The kind that is written so."""
    return _WRITTEN_ALONE.get(name) or GroupKind.parse(name)
