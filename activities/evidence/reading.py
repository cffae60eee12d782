"""EvidenceReader: reads all parts of evidence at once, each separately.

A part that fails, or is not read in time, says why it is missing; the others are kept.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from activities.attempt import AttemptFailure, tried_until
from activities.live_objects import LiveObjects
from health.evidence.document import EvidencePart
from health.evidence.kept import is_well, kept_event, kept_node, kept_pod, kept_target, last_seen
from health.kinds.registry import CHECK_KINDS
from health.model.references import IncidentReference
from health.model.target import Target
from kube.connection import ClusterConnection
from kube.resource import EVENTS, NODES, PODS, Object, resource_of
from objects.durations import in_words
from workflows.contracts import EVIDENCE_READING

MOST_READ = 2000
"""The maximum of Events, which are kept for an hour, and of Pods."""
MOST_EVENTS = 100
MOST_PODS = 250
NODE_EVENTS = "default"
"""The namespace of Events about cluster-scoped objects."""


@dataclass(frozen=True)
class EvidenceReader:
    """Reads for one incident, until the clock of the event loop reaches `ends`."""

    live: LiveObjects
    incident: IncidentReference
    target: Target
    ends: float

    async def parts(self) -> tuple[EvidencePart, ...]:
        """The parts in the order of their priority."""
        own = self.incident.target.kind.lower()
        reads = [
            self._tried(EvidencePart(name="node", is_list=False), self._node()),
            self._tried(EvidencePart(name="events-of-node"), self._node_events()),
            self._tried(EvidencePart(name="pods"), self._pods()),
        ]
        if resource_of(CHECK_KINDS[self.incident.check.group_kind].targets) != NODES:
            reads.insert(1, self._tried(EvidencePart(name=own, is_list=False), self._own()))
            reads.insert(2, self._tried(EvidencePart(name=f"events-of-{own}"), self._own_events()))
        return tuple(await asyncio.gather(*reads))

    async def _tried(self, part: EvidencePart, reading: Awaitable[EvidencePart]) -> EvidencePart:
        too_late = f"it was not read within {in_words(EVIDENCE_READING)}"
        read = await tried_until(self.ends, too_late, f"read {part.name}", reading)
        if isinstance(read, AttemptFailure):
            return replace(part, unread=read.why)
        return replace(part, items=read.items, unread=read.unread, most=read.most)

    async def _node(self) -> EvidencePart:
        if not self.target.node_name:
            return EvidencePart(name="", unread="the target is linked to none")
        cluster = await self._node_cluster()
        return EvidencePart(
            name="", items=(kept_node(await cluster.client.get(NODES, self.target.node_name)),)
        )

    async def _own(self) -> EvidencePart:
        kind, known = CHECK_KINDS[self.incident.check.group_kind].targets, self.incident.target
        resource = await self.live.management.discovery.first_served(kind)
        return EvidencePart(
            name="",
            items=(
                kept_target(await self.live.management.client.get(resource, known.name, known.namespace)),
            ),
        )

    async def _node_events(self) -> EvidencePart:
        if not self.target.node_name:
            return EvidencePart(name="")
        about = f"involvedObject.kind={NODES.kind},involvedObject.name={self.target.node_name}"
        return await self._events(await self._node_cluster(), about, NODE_EVENTS)

    async def _own_events(self) -> EvidencePart:
        known = self.incident.target
        about = f"involvedObject.kind={known.kind},involvedObject.uid={known.uid}"
        return await self._events(self.live.management, about, known.namespace)

    async def _events(self, cluster: ClusterConnection, about: str, namespace: str) -> EvidencePart:
        found, has_more = await cluster.client.list_some(EVENTS, about, namespace, most=MOST_READ)
        newest = sorted(found, key=last_seen, reverse=True)[:MOST_EVENTS]
        return EvidencePart(
            name="",
            items=[kept_event(event) for event in newest],
            most=_most(found, MOST_EVENTS, has_more=has_more),
        )

    async def _pods(self) -> EvidencePart:
        if not self.target.node_name:
            return EvidencePart(name="")
        client = (await self._node_cluster()).client
        on_node = f"spec.nodeName={self.target.node_name}"
        found, has_more = await client.list_some(PODS, on_node, most=MOST_READ)
        ailing_first = sorted(found, key=is_well)[:MOST_PODS]
        return EvidencePart(
            name="",
            items=[kept_pod(pod) for pod in ailing_first],
            most=_most(found, MOST_PODS, has_more=has_more),
        )

    async def _node_cluster(self) -> ClusterConnection:
        return await self.live.node_cluster_of(self.incident, self.target)


def _most(found: list[Object], kept: int, *, has_more: bool) -> str:
    if has_more:
        return f"{len(found)} or more"
    return str(len(found)) if len(found) > kept else ""
