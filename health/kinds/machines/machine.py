"""The common parts of Machines of both APIs: identity, owners, and the linked Node.

Each kind adds the fields of its own Machines. Metadata has only the annotations of orders here, because each
kind honours further ones.
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.annotations import OF_TEXTS, TargetAnnotations
from health.model.node import Node
from health.model.owner_signs import Sign, SignSighting
from health.model.sighting import SightedObject
from health.model.target import Target
from health.model.verdict import Fact
from objects.bounds import FailFast, Time

KIND = "Machine"
NODE, MISSING, GONE = "Node", "missing", "gone"
"""The facts of a Machine that was never linked to a Node, and of one whose Node is gone."""
PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)
"""The configuration of the parts; dataclasses with slots, because there are thousands of Machines."""


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class MachineOwner:
    """One owner reference; the owner with `controller` replaces the Machine after its deletion."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class AnyMachineMetadata(FailFast):
    """Identity, labels, owners and orders of a Machine."""

    name: str
    namespace: str
    uid: str
    resource_version: str = ""
    creation_timestamp: Time
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[MachineOwner, ...] = ()
    annotations: Annotated[TargetAnnotations, OF_TEXTS] = TargetAnnotations()


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class NodeReference:
    """The Node that a Machine is linked to, from its `status.nodeRef`."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class AnyMachineStatus(FailFast):
    """The part of a Machine's status that we read."""

    node_ref: NodeReference | None = None
    last_updated: Time | None = None


class LinkedMachine(SightedObject):
    """A Machine, linked to a Node or not yet."""

    metadata: AnyMachineMetadata
    status: AnyMachineStatus = AnyMachineStatus()

    @property
    def node_name(self) -> str:
        return self.status.node_ref.name if self.status.node_ref else ""

    @property
    def is_going(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def controller(self) -> MachineOwner | None:
        """The owner that replaces it after its deletion; None without one."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


@dataclasses.dataclass(frozen=True, slots=True)
class LinkedMachineTarget(Target):
    """One Machine with its Node, at one moment."""

    machine: LinkedMachine
    node: Node | None = None
    """The linked Node, if it exists and was read."""
    is_node_unread: bool = False
    """Whether the Node may exist unseen: the Nodes of its cluster were not read, or this one does not
    decode."""

    def with_node(self, node: Node) -> Self:
        return dataclasses.replace(self, node=node)

    @property
    def metadata(self) -> AnyMachineMetadata:
        return self.machine.metadata

    @property
    def annotations(self) -> TargetAnnotations:
        return self.metadata.annotations

    @property
    def replaced_by(self) -> str:
        """Its controller: a MachineSet, a control plane, or another owner of Machines."""
        controller = self.machine.controller
        return f"{controller.kind}/{controller.name}" if controller else ""

    @property
    def own_signs(self) -> Sequence[Sign]:
        return self.machine.signs

    @property
    def own_sightings(self) -> tuple[SignSighting, ...]:
        return self.machine.signs_seen or ()

    @property
    def node_name(self) -> str:
        return self.machine.node_name

    def node_label(self, name: str) -> str | None:
        """The label of its Node, or else its own: clouds write the zone on both."""
        of_node = self.node.metadata.labels.get(name) if self.node is not None else None
        own = self.metadata.labels.get(name)
        is_lost = self.node is None and bool(self.node_name)
        return of_node or own or (None if is_lost else "")

    def fact(self, condition: str, status: str) -> Fact:
        """A fact without a time of its own; its time is the Machine's last change, and moves with it."""
        since = self.machine.status.last_updated or self.metadata.creation_timestamp
        return Fact(condition=condition, status=status, since=since, is_moving=True)
