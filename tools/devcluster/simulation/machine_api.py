"""The steps of a Machine's controller, and the differences between OpenShift's machine API and Cluster API.

OpenShift's machine API is derived from Cluster API, so one controller simulates both. They differ in the link
between a Machine and its Node, in the status, and in the content of a new Machine.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from devcluster.simulation.controller import NoAction
from devcluster.simulation.machine_object import MachineObject, ReferencedNode, Version
from health.model.node import Node
from kube.resource import Object, Resource


@dataclass(frozen=True)
class RequeueAfter:
    """The provider needs this much more time."""

    duration: timedelta


@dataclass(frozen=True)
class AddFinalizer:
    """Add our finalizer, so that the Machine stays until its Node is deleted."""


@dataclass(frozen=True)
class UpdatePhase:
    """Write the phase of the Machine, and its Node."""

    phase: str
    node: ReferencedNode | None = None


@dataclass(frozen=True)
class SwitchOn:
    """Give it hardware, and record the provider's ID of that."""


@dataclass(frozen=True)
class LinkNode:
    """Write the name of the Machine on its Node, with the labels that the Machine has for it."""

    uid: str


@dataclass(frozen=True)
class SwitchOff:
    """Remove its hardware, and report the phase Deleting."""


@dataclass(frozen=True)
class DeleteNode:
    """Delete the Node that its hardware had registered."""

    uid: str


@dataclass(frozen=True)
class RemoveFinalizer:
    """Remove our finalizer, so that the Machine can go."""


Step = (
    NoAction
    | RequeueAfter
    | AddFinalizer
    | UpdatePhase
    | SwitchOn
    | LinkNode
    | SwitchOff
    | DeleteNode
    | RemoveFinalizer
)


class MachineApi(Protocol):
    """One of the machine APIs in one version."""

    @property
    def machines(self) -> Resource: ...

    @property
    def machine_sets(self) -> Resource: ...

    @property
    def version(self) -> Version:
        """The version of Cluster API whose conditions have the same form."""
        ...

    @property
    def finalizer(self) -> str:
        """The finalizer that keeps a Machine until its Node is deleted."""
        ...

    @property
    def replaces_marked(self) -> bool:
        """True if a MachineSet replaces Machines that are marked for their owner."""
        ...

    def next_link(self, machine: MachineObject, node: Node) -> Step:
        """The next step to link a Machine with hardware and its Node."""
        ...

    def status(self, report: UpdatePhase, stored: Object, now: datetime) -> Object:
        """The changed fields of the status of a stored Machine."""
        ...

    def identity(self, machine_set: Object) -> tuple[dict[str, str], Object]:
        """Labels and fields of the spec that each Machine of a stored set gets beside its template."""
        ...
