"""Quorum: which Nodes and Machines are members of a quorum, and which steps on them take turns. Pure.

etcd, or a store like it, loses its data or its availability when too many of its members are down. So one
member at a time is remediated in each cluster, over all checks and kinds, until it is well or replaced (rules
21 and 61). A member that another actor deletes or marks counts as well.

The distributions label their members: on the Node, on the Machine, or on both. The policy names further
labels. A control plane that owns Machines takes one of them at a time by itself, and needs the marks of all
unhealthy ones to choose, so a mark for such an owner takes no turn (CAPI B.2.5). A request of a template
does, because the remediator does not ask that owner (ADR 56).
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, StrictStr

from health.model.node import facts_of_node
from health.model.references import Action
from health.model.target import Target
from health.policy.limits import is_qualified_name
from objects.timestamps import stamp

KNOWN_LABELS = (
    "node-role.kubernetes.io/control-plane",  # most distributions
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/etcd",  # K3s, RKE2 and RKE
    "node-role.kubernetes.io/controlplane",  # RKE
    "node-role.kubernetes.io/arbiter",  # a member of etcd beside two masters
    "node.kubernetes.io/microk8s-controlplane",
    "node.k0sproject.io/role=control-plane",
    "kubernetes.io/role=master",  # before node-role.kubernetes.io
    "cluster.x-k8s.io/control-plane",
    "cluster.x-k8s.io/etcd-cluster",  # the external etcd of EKS Anywhere
    "rke.cattle.io/control-plane-role=true",
    "rke.cattle.io/etcd-role=true",
    "machine.openshift.io/cluster-api-machine-role=master",
    "machine.openshift.io/cluster-api-machine-role=arbiter",
)
"""The labels of members; a label without a value counts with any value."""
MOST_LABELS = 50
JOINS_WITHIN = timedelta(hours=1)
"""How long a new Machine counts as the replacement of a member; it may never join."""
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def _label(written: str) -> str:
    name, _, value = written.partition("=")
    if not is_qualified_name(name) or not _VALUE.fullmatch(value):
        raise ValueError(f"{written!r} is neither a label name nor a label name with =value")
    return written


QuorumLabels = Annotated[
    tuple[Annotated[StrictStr, AfterValidator(_label)], ...], Field(max_length=MOST_LABELS)
]
"""More labels of members, each as `name` or `name=value`."""


def is_member(target: Target, more: Sequence[str] = ()) -> bool:
    """True if the target, or its Node, has a label of members; `more`: those of the policy."""
    of_target, of_node = target.metadata.labels, facts_of_node(target).metadata.labels
    for label in (*KNOWN_LABELS, *more):
        name, equals, value = label.partition("=")
        for labels in (of_target, of_node):
            if name in labels and (not equals or labels[name] == value):
                return True
    return False


def takes_turns(target: Target, action: Action | str, more: Sequence[str] = ()) -> bool:
    """True if a step of this action waits until no other member of its quorum is remediated."""
    is_left_to_owner = action == Action.MARK and target.owner_keeps_quorum
    return not is_left_to_owner and is_member(target, more)


def may_be_changing(target: Target) -> bool:
    """True if another target may have to wait for this one, by `wait_for`."""
    return target.is_mark_open or target.metadata.deletion_timestamp is not None or not target.node_name


class MemberWait(NamedTuple):
    """How a member of the quorum keeps another one waiting without a request."""

    how: str
    ends: datetime | None = None
    """The latest end; None: only a change of the member ends it."""


def wait_for(other: Target, target: Target, now: datetime, more: Sequence[str] = ()) -> MemberWait | None:
    """Why `target` waits for another member of the same cluster; None: it does not.

    A mark or a deletion lasts until the member is well or gone. A new Machine replaces a member until it has
    a Node, for a limited time. A Machine that never had one is no member yet, so it does not wait for another
    new one.
    """
    has_same_node = bool(other.node_name) and other.node_name == target.node_name
    if other.metadata.uid == target.metadata.uid or has_same_node or not is_member(other, more):
        return None
    going, since = other.metadata.deletion_timestamp, target.metadata.deletion_timestamp
    if going is not None and since is not None and since <= going:
        return None  # of two that are being deleted the later one waits
    if going is not None:
        return MemberWait(f"is being deleted since {stamp(going)}")
    if other.is_mark_open:
        return MemberWait("is marked for remediation")
    joins_until = other.metadata.creation_timestamp + JOINS_WITHIN
    if other.node_name or not target.node_name or now >= joins_until:
        return None
    return MemberWait("is new and has no Node yet", joins_until)
