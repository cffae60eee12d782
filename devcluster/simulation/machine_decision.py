"""What a Machine wants next. Pure: time is an argument, and it is looked at again after every step.

A Machine waits for its provider, gets its hardware, says so, and is linked to the Node that the kubelet of
the hardware registers. A Machine that is deleted loses the hardware first, then the Node, then our finalizer;
its phase is Deleting once the hardware is gone. A Machine that is Failed is left alone, and a Node that
somebody deleted is not made anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from devcluster.simulation.openshift_machine import (
    DELETING,
    FAILED,
    PROVISIONED,
    PROVISIONING,
    RUNNING,
    NodeReference,
    OpenShiftMachine,
)
from health.model.node import Node


@dataclass(frozen=True)
class Nothing:
    """It is as it should be, or somebody else's turn."""


@dataclass(frozen=True)
class Wait:
    """Its provider takes so much longer."""

    duration: timedelta


@dataclass(frozen=True)
class AddFinalizer:
    """Make sure that it does not go before its Node."""


@dataclass(frozen=True)
class Report:
    """Say how far it is, and which Node it became."""

    phase: str
    node: NodeReference | None = None


@dataclass(frozen=True)
class SwitchOn:
    """Give it hardware, and note what the provider calls that."""


@dataclass(frozen=True)
class LinkNode:
    """Note on its Node which Machine it is, and give it the labels that the Machine has for it."""

    uid: str


@dataclass(frozen=True)
class SwitchOff:
    """Take its hardware away, and say so."""


@dataclass(frozen=True)
class DeleteNode:
    """Delete the Node that its hardware had."""

    uid: str


@dataclass(frozen=True)
class LetGo:
    """Remove our finalizer."""


Step = Nothing | Wait | AddFinalizer | Report | SwitchOn | LinkNode | SwitchOff | DeleteNode | LetGo


def next_step(machine: OpenShiftMachine, node: Node | None, now: datetime, provisioning: timedelta) -> Step:
    """Decide from the Machine and its Node; `provisioning` is how long a provider takes from its creation."""
    if machine.is_being_deleted:
        return _next_of_deletion(machine, node)
    if machine.status.phase == FAILED:
        return Nothing()
    if not machine.is_ours_to_let_go:
        return AddFinalizer()
    if not machine.spec.provider_id:
        return _next_of_provisioning(machine, now, provisioning)
    if machine.status.phase in ("", PROVISIONING):
        return Report(PROVISIONED)
    return Nothing() if node is None else _next_of_link(machine, node)


def _next_of_provisioning(machine: OpenShiftMachine, now: datetime, provisioning: timedelta) -> Step:
    if machine.status.phase != PROVISIONING:
        return Report(PROVISIONING)
    remaining = machine.metadata.creation_timestamp + provisioning - now
    return Wait(remaining) if remaining > timedelta() else SwitchOn()


def _next_of_link(machine: OpenShiftMachine, node: Node) -> Step:
    missing = machine.spec.metadata.labels.items() - node.metadata.labels.items()
    if missing or node.metadata.annotations.machine != machine.full_name:
        return LinkNode(node.metadata.uid)
    reference = NodeReference(name=node.metadata.name, uid=node.metadata.uid)
    if (machine.status.phase, machine.status.node_ref) != (RUNNING, reference):
        return Report(RUNNING, reference)
    return Nothing()


def _next_of_deletion(machine: OpenShiftMachine, node: Node | None) -> Step:
    if not machine.is_ours_to_let_go:
        return Nothing()
    if machine.status.phase != DELETING:
        return SwitchOff()
    if node is None:
        return LetGo()
    return Nothing() if node.metadata.deletion_timestamp else DeleteNode(node.metadata.uid)
