"""What the story saw: the facts that its sentences are made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeSeen:
    """A Node before the accident."""

    name: str
    uid: str
    boot_id: str


@dataclass(frozen=True)
class MachineSeen:
    """A Machine before the accident."""

    name: str
    uid: str
    node: NodeSeen
    """What it runs as."""
    group: str = "machine.openshift.io"
    """Of its kind."""


@dataclass(frozen=True)
class MarkSeen:
    """What a Machine is marked with for its owner."""

    reason: str
    message: str


@dataclass(frozen=True)
class ConditionSeen:
    """The Ready condition of a Node."""

    status: str
    since: str
    reason: str


@dataclass(frozen=True)
class Run:
    """One run of a workflow."""

    workflow_id: str
    run_id: str


@dataclass(frozen=True)
class RequestSeen:
    """A remediation request."""

    kind: str
    namespace: str
    name: str
