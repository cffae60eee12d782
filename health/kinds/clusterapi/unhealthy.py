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

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from health.cluster.cluster_context import ClusterContext
from health.kinds.clusterapi.cluster import Cluster
from health.kinds.clusterapi.machine import INFRASTRUCTURE_READY, MachineTarget
from health.kinds.clusterapi.spec import Spec
from health.kinds.machines.machine import GONE, MISSING, NODE
from health.model.remediation_order import RemediationOrder
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
_NODE_NOT_FOUND = "NodeNotFound"


@dataclass(frozen=True)
class Failure:
    """Why a health check failed, in the form of either version."""

    reason: str
    message: str
    deprecated_reason: str
    deprecated_message: str


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


@dataclass(frozen=True, kw_only=True)
class _Finding:
    """One match of a rule, with its reason and message."""

    match: Match
    reason: str
    message: str
    deprecated_reason: str | None = None
    """If it differs."""
    is_at_once: bool = False

    def is_expired(self, now: datetime) -> bool:
        if self.is_at_once:
            return self.match.not_before is None or now > self.match.not_before
        return now > self.match.at(now).deadline


@dataclass(frozen=True)
class MachineFindings:
    """All rules of a check that one Machine matches, expired or not."""

    spec: Spec
    target: MachineTarget
    cluster: Cluster | None
    context: ClusterContext

    def verdict(self, now: datetime) -> Verdict:
        """The verdict at `now`; findings without a timer come before those with one."""
        at_once = (finding for finding in self._findings if finding.is_at_once and finding.is_expired(now))
        first = next(at_once, None)
        if first is None:
            return judged(self.matches, now)
        fact = first.match.fact
        return Verdict(health=Health.EXPIRED, reason=first.message, fact=fact, deadline=fact.since)

    @property
    def matches(self) -> list[Match]:
        return [finding.match for finding in self._findings]

    def failure(self, now: datetime) -> Failure | None:
        """Why its health check failed; None while no finding has expired."""
        if self.target.machine.is_to_be_remediated:
            return _TO_BE_REMEDIATED
        expired = [finding for finding in self._findings if finding.is_expired(now)]
        if not expired:
            return None
        first, messages = expired[0], [finding.message for finding in expired]
        return Failure(
            first.reason,
            "\n".join(("Health check failed:", *(f"  * {message}" for message in messages))),
            first.deprecated_reason or first.reason,
            "" if first.deprecated_reason == _NODE_NOT_FOUND else "; ".join(messages),
        )

    def next_deadline(self, now: datetime) -> datetime | None:
        """When another finding expires by the passing of time alone."""
        waiting = [finding for finding in self._findings if not finding.is_expired(now)]
        return min((finding.match.at(now).deadline for finding in waiting), default=None)

    @cached_property
    def _findings(self) -> tuple[_Finding, ...]:
        machine, cluster = self.target.machine, self.cluster
        if machine.is_to_be_remediated:
            match = Match(fact=self.target.fact(ANNOTATION, "set"))
            words = "its remediation is asked for by an annotation"
            return (_Finding(match=match, reason=_TO_BE_REMEDIATED.reason, message=words, is_at_once=True),)
        if cluster is None or not cluster.is_infrastructure_ready:
            return ()
        if not cluster.is_control_plane_initialized and not machine.is_of_control_plane:
            return ()
        restarts = (
            *self.context.restarts_of_objects(self.target.node_cluster),
            *self.context.restarts_by_owners(self.target),
        )
        of_machine = (
            _Finding(
                match=match_of(found, machine, rule.duration, restarts, OF_MACHINE),
                reason="UnhealthyMachine",
                message=_reporting(rule, "Machine", found.reason),
            )
            for rule in self.spec.machine_conditions
            if (found := machine.condition(rule.type)) is not None and found.status == rule.status
        )
        return (*of_machine, *self._of_node(cluster))

    def _of_node(self, cluster: Cluster) -> Iterator[_Finding]:
        """The finding that its Node is gone or never joined, or those by conditions of its Node."""
        target, node, timeout = self.target, self.target.node, self.spec.node_startup
        # Before the control plane is initialized there is no API server to read Nodes from.
        are_nodes_read = cluster.is_control_plane_initialized
        is_unread = are_nodes_read and target.is_node_unread
        if node is None and are_nodes_read and not is_unread and target.node_name:
            gone_from = self.context.gone_from(target.node_cluster)
            yield _Finding(
                match=Match(fact=target.fact(NODE, GONE), not_before=gone_from),
                reason="NodeDeleted",
                message=f"Node {target.node_name} has been deleted",
                deprecated_reason=_NODE_NOT_FOUND,
                is_at_once=True,
            )
        elif node is None and not is_unread and timeout:
            ready = target.machine.condition(INFRASTRUCTURE_READY)
            bases = [target.metadata.creation_timestamp, *cluster.ready_times]
            if ready is not None and ready.is_true and ready.last_transition_time is not None:
                bases.append(target.machine.since(ready))
            fact = Fact(condition=NODE, status=MISSING, since=max(bases), is_moving=True)
            restarts = self.context.restarts_of(target)
            yield _Finding(
                match=Match(fact=fact, duration=timeout, restarts=restarts, bases=bases),
                reason="NodeStartupTimeout",
                message=f"Node failed to report startup in {as_go(timeout)}",
            )
        elif node is not None:
            restarts = self.context.restarts_of(target)
            for rule in self.spec.node_conditions:
                for found in node.status.conditions:
                    if (found.type, found.status) == (rule.type, rule.status):
                        yield _Finding(
                            match=match_of(found, node, rule.duration, restarts),
                            reason="UnhealthyNode",
                            message=_reporting(rule, "Node", found.reason),
                        )


def _reporting(rule: UnhealthyCondition, kind: str, reason: str) -> str:
    return (
        f"Condition {rule.type} on {kind} is reporting status {rule.status} with reason {reason} "
        f"for more than {as_go(rule.duration)}"
    )
