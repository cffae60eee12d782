"""The rules by which a Machine is unhealthy (CAPI B.2.3), and their messages.

1. The annotation `remediate-machine`: expired at once, regardless of the Cluster, as the only finding.
2. Nothing, while the Cluster's control plane is not initialized (except for Machines of the control plane),
   or its infrastructure is not ready, or the Cluster does not exist.
3. All of these together: conditions of the Machine; a linked Node that is gone, or the startup timer without
   a Node, or conditions of the Node.

The startup timer begins with the latest of four times: the creation of the Machine, and when the Cluster's
control plane, its infrastructure and that of the Machine became ready. Zero turns it off. Before the control
plane is initialized no Nodes are read, so none is gone. A Node that was not read, or exists and cannot be
decoded, counts neither way. A Node counts as gone at once, but no sooner than a minute after the connection
to its cluster was made or restored (rule 50).

Each rule expires strictly after its time. After a blind period, conditions of Nodes and the startup timer
count from its end (rule 33); conditions of Machines are always visible. After an upgrade of the workload
cluster every rule counts from its end (rule 37). The message joins all expired findings, those of the Machine
first, and the reason is that of the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import Cluster
from health.kinds.clusterapi.machine import INFRASTRUCTURE_READY, MachineTarget
from health.kinds.machines.machine import GONE, MISSING, NODE
from health.model.remediation_order import RemediationOrder
from health.model.sighting import Restart
from health.model.verdict import (
    OF_MACHINE,
    Fact,
    Health,
    Match,
    UnhealthyCondition,
    Verdict,
    judged,
    match_of,
)
from objects.durations import as_go

ANNOTATION = "remediate-machine"


@dataclass(frozen=True)
class Rules:
    """The rules of a check for unhealthy Machines."""

    machine_conditions: Sequence[UnhealthyCondition]
    node_conditions: Sequence[UnhealthyCondition]
    node_startup: timedelta
    """Zero: a Machine may wait for its Node for ever."""


@dataclass(frozen=True, kw_only=True)
class MachineContext:
    """A Machine with the parts of its context that the rules use."""

    target: MachineTarget
    cluster: Cluster | None
    machine_restarts: Sequence[Restart] = ()
    node_restarts: Sequence[Restart] = ()
    gone_from: datetime | None = None
    """Before this time no missing Node counts as gone; None: each does at once."""

    @classmethod
    def of(cls, target: MachineTarget, cluster: Cluster | None, context: ClusterContext) -> Self:
        """The parts of `context` for this Machine."""
        in_cluster = target.node_cluster
        return cls(
            target=target,
            cluster=cluster,
            machine_restarts=(
                *context.restarts_of_objects(in_cluster),
                *context.restarts_by_owners(target),
            ),
            node_restarts=context.restarts_of(target),
            gone_from=context.gone_from(in_cluster),
        )

    @property
    def is_judged(self) -> bool:
        """True if the Cluster's state allows a verdict."""
        if self.cluster is None or not self.cluster.is_infrastructure_ready:
            return False
        return self.cluster.is_control_plane_initialized or self.target.machine.is_of_control_plane

    @property
    def has_lost_its_node(self) -> bool:
        """True if it was linked to a Node that does not exist."""
        is_seen = self._are_nodes_looked_at and not self.target.is_node_unread
        return is_seen and bool(self.target.node_name) and self.target.node is None

    @property
    def waits_for_its_node(self) -> bool:
        """True if it has no Node, and none that is gone."""
        is_unread = self._are_nodes_looked_at and self.target.is_node_unread
        return self.target.node is None and not is_unread and not self.has_lost_its_node

    @property
    def _are_nodes_looked_at(self) -> bool:
        """True if there is an API server to read Nodes from."""
        return self.cluster is not None and self.cluster.is_control_plane_initialized


@dataclass(frozen=True)
class Failure:
    """Why a health check failed, in the form of either version."""

    reason: str
    message: str
    deprecated_reason: str
    deprecated_message: str


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """One match of a rule, with its reason and message."""

    match: Match
    reason: str
    message: str
    deprecated_reason: str = ""
    """If it differs."""
    is_at_once: bool = False

    def is_expired(self, now: datetime) -> bool:
        if self.is_at_once:
            return self.match.not_before is None or now > self.match.not_before
        return now > self.match.at(now).deadline


def verdict(situation: MachineContext, rules: Rules, now: datetime) -> Verdict:
    """The verdict of `rules` at `now`; findings without a timer come before those with one."""
    found = _findings(situation, rules)
    at_once = next((finding for finding in found if finding.is_at_once and finding.is_expired(now)), None)
    if at_once is not None:
        fact = at_once.match.fact
        return Verdict(health=Health.EXPIRED, reason=at_once.message, fact=fact, deadline=fact.since)
    return judged([finding.match for finding in found], now)


def matches(situation: MachineContext, rules: Rules) -> tuple[Match, ...]:
    """All rules that it matches now, expired or not."""
    return tuple(finding.match for finding in _findings(situation, rules))


def failure(situation: MachineContext, rules: Rules, now: datetime) -> Failure | None:
    """Why its health check failed; None while no finding has expired."""
    if situation.target.machine.is_to_be_remediated:
        return _TO_BE_REMEDIATED
    expired = [finding for finding in _findings(situation, rules) if finding.is_expired(now)]
    if not expired:
        return None
    first, messages = expired[0], [finding.message for finding in expired]
    return Failure(
        first.reason,
        "\n".join(("Health check failed:", *(f"  * {message}" for message in messages))),
        first.deprecated_reason or first.reason,
        "" if first.deprecated_reason == _NODE_NOT_FOUND else "; ".join(messages),
    )


def next_deadline(situation: MachineContext, rules: Rules, now: datetime) -> datetime | None:
    """When another finding expires by the passing of time alone."""
    waiting = [finding for finding in _findings(situation, rules) if not finding.is_expired(now)]
    return min((finding.match.at(now).deadline for finding in waiting), default=None)


_NODE_NOT_FOUND = "NodeNotFound"
_TO_BE_REMEDIATED = Failure(
    "HasRemediateAnnotation",
    "Health check failed: marked for remediation via cluster.x-k8s.io/remediate-machine annotation",
    "HasRemediateMachineAnnotation",
    "Marked for remediation via remediate-machine annotation",
)


def by_order(order: RemediationOrder) -> Failure:
    """The failure of a Machine that a person ordered to be remediated, and that no rule matches."""
    reason = "RemediationOrdered"
    return Failure(reason, f"Health check failed: {order.words}", reason, order.words)


def _findings(situation: MachineContext, rules: Rules) -> tuple[_Finding, ...]:
    target = situation.target
    if target.machine.is_to_be_remediated:
        match = Match(fact=target.fact(ANNOTATION, "set"))
        words = "its remediation is asked for by an annotation"
        return (_Finding(match=match, reason=_TO_BE_REMEDIATED.reason, message=words, is_at_once=True),)
    if not situation.is_judged:
        return ()
    return (*_of_machine(situation, rules), *_of_node(situation, rules))


def _of_machine(situation: MachineContext, rules: Rules) -> Iterator[_Finding]:
    for rule in rules.machine_conditions:
        found = situation.target.machine.condition(rule.type)
        if found is None or found.status != rule.status:
            continue
        machine = situation.target.machine
        match = match_of(found, machine, rule.duration, situation.machine_restarts, OF_MACHINE)
        yield _Finding(
            match=match, reason="UnhealthyMachine", message=_reporting(rule, "Machine", found.reason)
        )


def _of_node(situation: MachineContext, rules: Rules) -> Iterator[_Finding]:
    if situation.has_lost_its_node:
        yield _lost_node(situation.target, situation.gone_from)
    elif situation.waits_for_its_node and rules.node_startup:
        yield _startup(situation, rules.node_startup)
    else:
        yield from _of_node_conditions(situation, rules)


def _lost_node(target: MachineTarget, gone_from: datetime | None) -> _Finding:
    match = Match(fact=target.fact(NODE, GONE), not_before=gone_from)
    message = f"Node {target.node_name} has been deleted"
    return _Finding(
        match=match, reason="NodeDeleted", message=message, deprecated_reason=_NODE_NOT_FOUND, is_at_once=True
    )


def _startup(situation: MachineContext, timeout: timedelta) -> _Finding:
    bases = _startup_bases(situation)
    fact = Fact(condition=NODE, status=MISSING, since=max(bases), is_moving=True)
    match = Match(fact=fact, duration=timeout, restarts=situation.node_restarts, bases=bases)
    return _Finding(
        match=match, reason="NodeStartupTimeout", message=f"Node failed to report startup in {as_go(timeout)}"
    )


def _of_node_conditions(situation: MachineContext, rules: Rules) -> Iterator[_Finding]:
    node = situation.target.node
    for rule in rules.node_conditions:
        for found in node.status.conditions if node is not None else ():
            if node is not None and (found.type, found.status) == (rule.type, rule.status):
                match = match_of(found, node, rule.duration, situation.node_restarts)
                yield _Finding(
                    match=match, reason="UnhealthyNode", message=_reporting(rule, "Node", found.reason)
                )


def _reporting(rule: UnhealthyCondition, kind: str, reason: str) -> str:
    return (
        f"Condition {rule.type} on {kind} is reporting status {rule.status} with reason {reason} "
        f"for more than {as_go(rule.duration)}"
    )


def _startup_bases(situation: MachineContext) -> tuple[datetime, ...]:
    machine, cluster = situation.target.machine, situation.cluster
    ready = machine.condition(INFRASTRUCTURE_READY)
    times = [machine.metadata.creation_timestamp, *(cluster.ready_times if cluster is not None else ())]
    if ready is not None and ready.is_true and ready.last_transition_time is not None:
        times.append(machine.since(ready))
    return tuple(times)
