"""Target: what a check watches, with all that verdicts are made from: a Node, or a Machine with its Node.

Nothing outside the rules of one kind of check asks which of the two it is.
"""

from datetime import datetime
from typing import NamedTuple, Protocol

from health.model.kind_names import kind_named
from health.model.node import NO_SPEC, NodeSpec
from health.model.references import TargetReference
from objects.clusters import MANAGEMENT_CLUSTER


class TargetPlace(NamedTuple):
    """Where the targets of a check are: all of one kind in one namespace ("" for those without any).

    Other clusters have Nodes of targets, and no targets.
    """

    kind: str
    """As `kind_names` writes it."""
    namespace: str
    cluster: str = MANAGEMENT_CLUSTER

    def named(self, name: str) -> "TargetName":
        """The target of that name in it."""
        return TargetName(self.kind, self.namespace, name, self.cluster)

    def reference(self, name: str, uid: str) -> TargetReference:
        """The object of that name and uid in it."""
        kind = kind_named(self.kind)
        return TargetReference(kind=kind.kind, group=kind.group, namespace=self.namespace, name=name, uid=uid)


class TargetName(NamedTuple):
    """A target, or the Node of one, whatever uid it has."""

    kind: str
    """As of TargetPlace."""
    namespace: str
    name: str
    cluster: str = MANAGEMENT_CLUSTER

    @property
    def place(self) -> TargetPlace:
        """Where it is."""
        return TargetPlace(self.kind, self.namespace, self.cluster)

    @classmethod
    def of(cls, target: TargetReference) -> "TargetName":
        """The name of `target`."""
        return cls(target.kind_name, target.namespace, target.name)


def node_name(name: str, cluster: str = MANAGEMENT_CLUSTER) -> TargetName:
    """The Node of that name in a cluster: two clusters may each have one."""
    return TargetName("Node", "", name, cluster)


def owner_name(namespace: str, owner: str) -> TargetName:
    """The name of what replaces targets in `namespace`, by `Target.replaced_by`."""
    kind, _, name = owner.partition("/")
    return TargetName(kind, namespace, name)


class Identity(Protocol):
    """What the metadata of every target says."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def namespace(self) -> str:
        """Its namespace; "" for a Node."""

    @property
    def uid(self) -> str:
        """Tells it from others of its name."""

    @property
    def labels(self) -> dict[str, str]:
        """Its labels, which selectors go by."""

    @property
    def creation_timestamp(self) -> datetime:
        """Since when it is there."""

    @property
    def deletion_timestamp(self) -> datetime | None:
        """Since when only finalizers keep it."""


class Target(Protocol):
    """One target, as it was seen last; a kind whose targets never are so inherits what it does not say."""

    __slots__ = ()

    @property
    def metadata(self) -> Identity:
        """Who it is."""

    @property
    def node_name(self) -> str:
        """The Node that it is or is linked to, there or not; "" while there is none."""

    @property
    def node_spec(self) -> NodeSpec:
        """What that Node says of work on it; nothing where it is not there."""
        return NO_SPEC

    @property
    def node_cluster(self) -> str:
        """The cluster in which that Node is."""
        return MANAGEMENT_CLUSTER

    @property
    def node_zone(self) -> str:
        """The zone that the Node says it is in; "" where it says none, or is not there."""
        return ""

    @property
    def boot_id(self) -> str:
        """By which its Node tells one boot from another; "" where that says none, or is not there."""
        return ""

    @property
    def replaced_by(self) -> str:
        """Kind and name of what makes another one when it is deleted, in its namespace; "": nothing does."""
        return ""

    def node_label(self, name: str) -> str | None:
        """The value of a label of its Node; "" where that has none, None where nobody can tell."""
        return self.metadata.labels.get(name, "")

    @property
    def is_control_plane(self) -> bool:
        """Whether it is, or bears, a node of the control plane."""
        return False

    @property
    def is_excluded(self) -> bool:
        """Whether a person excluded it."""
        return False

    @property
    def has_empty_exclusion(self) -> bool:
        """Whether somebody meant to exclude it, and did not say so."""
        return False

    @property
    def is_confirmed_healthy(self) -> bool:
        """Whether a person marked it as healthy."""
        return False

    @property
    def is_marked(self) -> bool:
        """Whether another controller is asked, by a mark on it, to remediate it."""
        return False

    @property
    def configuration_to_come(self) -> str:
        """To which configuration somebody is changing it, which makes it unhealthy for a while; "": none."""
        return ""
