"""How a kind is written in workflow ids, search attributes, metrics, and names and holders of Leases.

A kind is written with its group, `MachineHealthCheck.cluster.x-k8s.io`, so no two kinds are written alike.
Kinds without a group, and the kinds listed here, are written without: a bare name always means the listed
kind. Add no kind to this list.
"""

from objects.group_kind import GroupKind

_WRITTEN_ALONE = {
    kind.kind: kind
    for kind in (
        GroupKind("remediation.medik8s.io", "NodeHealthCheck"),
        GroupKind("machine.openshift.io", "MachineHealthCheck"),
        GroupKind("machine.openshift.io", "Machine"),
    )
}


def kind_name(kind: GroupKind) -> str:
    return kind.kind if kind == kind_named(kind.kind) else str(kind)


def kind_named(name: str) -> GroupKind:
    return _WRITTEN_ALONE.get(name) or GroupKind.parse(name)
