"""Target: what a check watches, with everything that verdicts need: a Node, or a Machine with its Node.

Only the rules of a kind of check distinguish the two.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from health.model.annotations import NO_ANNOTATIONS, TargetAnnotations
from health.model.owner_signs import Sign, SignSighting
from health.model.references import TargetReference, kind_named
from objects.clusters import MANAGEMENT_CLUSTER

if TYPE_CHECKING:
    from health.model.node import Node


class TargetPlace(NamedTuple):
    """Where the targets of a check are: one kind in one namespace ("" for cluster-scoped targets).

    Other clusters contain Nodes of targets, but no targets.
    """

    kind: str
    """As `kind_name` writes it."""
    namespace: str
    cluster: str = MANAGEMENT_CLUSTER

    def named(self, name: str) -> "TargetName":
        return TargetName(self.kind, self.namespace, name, self.cluster)

    def reference(self, name: str, uid: str) -> TargetReference:
        """The object of that name and uid here."""
        kind = kind_named(self.kind)
        return TargetReference(kind=kind.kind, group=kind.group, namespace=self.namespace, name=name, uid=uid)


class TargetName(NamedTuple):
    """A target, or the Node of one, with any uid."""

    kind: str
    """As `kind_name` writes it."""
    namespace: str
    name: str
    cluster: str = MANAGEMENT_CLUSTER

    @property
    def place(self) -> TargetPlace:
        return TargetPlace(self.kind, self.namespace, self.cluster)

    @classmethod
    def of(cls, target: TargetReference) -> "TargetName":
        return cls(target.kind_name, target.namespace, target.name)


def node_name(name: str, cluster: str = MANAGEMENT_CLUSTER) -> TargetName:
    """The Node of that name in a cluster; two clusters may have Nodes of the same name."""
    return TargetName("Node", "", name, cluster)


def owner_name(namespace: str, owner: str) -> TargetName:
    """The owner that replaces targets in `namespace`, from `Target.replaced_by`."""
    kind, _, name = owner.partition("/")
    return TargetName(kind, namespace, name)


class TargetMetadata(Protocol):
    """The part of the metadata that every target has."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...
    @property
    def creation_timestamp(self) -> datetime: ...
    @property
    def deletion_timestamp(self) -> datetime | None:
        """When its deletion was ordered; since then only finalizers keep it."""


class Target:
    """One target as last seen. A kind inherits the defaults for features that it lacks."""

    __slots__ = ()

    if TYPE_CHECKING:  # a field or a property of each kind of target

        @property
        def metadata(self) -> TargetMetadata: ...

    @property
    def node_name(self) -> str:
        """The Node that it is or is linked to, existing or not; "" without one."""
        return ""

    @property
    def node(self) -> "Node | None":
        """Its Node: a Node itself, else the linked one; None if it does not exist or was not read."""
        return None

    def with_node(self, node: "Node") -> "Target":  # noqa: ARG002  a kind without Nodes has none to replace
        """The same target with this Node in place of its own."""
        return self

    @property
    def node_cluster(self) -> str:
        """The cluster of that Node."""
        return MANAGEMENT_CLUSTER

    @property
    def own_signs(self) -> Iterable[Sign]:
        """The signs on the object itself, besides those on its Node, that its owner works on it."""
        return ()

    @property
    def own_sightings(self) -> Iterable[SignSighting]:
        """The sightings of these signs by the detector, if it looked."""
        return ()

    @property
    def replaced_by(self) -> str:
        """Kind and name of the owner in its namespace that replaces it after its deletion; "": none."""
        return ""

    def node_label(self, name: str) -> str | None:
        """The value of a label of its Node; "" without the label, None if the Node is unknown."""
        return self.metadata.labels.get(name, "")

    @property
    def owner_keeps_quorum(self) -> bool:
        """True if the owner that a mark asks remediates one member of its quorum at a time."""
        return False

    @property
    def is_excluded(self) -> bool:
        """True if a person excluded it from remediation."""
        return False

    @property
    def has_empty_exclusion(self) -> bool:
        """True if a person set the exclusion label without a value, which excludes nothing."""
        return False

    @property
    def is_confirmed_healthy(self) -> bool:
        """True if a person confirmed it as healthy."""
        return False

    @property
    def annotations(self) -> TargetAnnotations:
        """The annotations by which people give orders for it."""
        return NO_ANNOTATIONS

    @property
    def is_marked(self) -> bool:
        """True if it carries a mark that asks another controller to remediate it."""
        return False

    @property
    def is_mark_open(self) -> bool:
        """True if that controller may still act on the mark."""
        return self.is_marked
