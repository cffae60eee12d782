"""Facts that a scenario has seen and its texts quote."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeSeen:
    """A Node before the failure, with its boot ID."""

    name: str
    uid: str
    boot_id: str


@dataclass(frozen=True)
class MachineSeen:
    """A Machine before the failure, with its node."""

    name: str
    uid: str
    node: NodeSeen
    """The node of the Machine."""
    group: str = "machine.openshift.io"
    """The API group of its kind."""


@dataclass(frozen=True)
class MarkSeen:
    """The mark that asks the owner of a Machine to remediate it."""

    reason: str
    message: str


@dataclass(frozen=True)
class ConditionSeen:
    """The Ready condition of a Node, at one moment."""

    status: str
    since: str
    reason: str


@dataclass(frozen=True)
class Run:
    """One run of a workflow, by both of its ids."""

    workflow_id: str
    run_id: str


@dataclass(frozen=True)
class RequestSeen:
    """A remediation request, by kind, namespace and name."""

    kind: str
    namespace: str
    name: str
