"""save_evidence: revalidate like an act, then read and save the state of the target, or say why not.

Rule: it always ends in time and with an answer. Only a finding of the revalidation stops the step, as it
would in the act.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from temporalio import activity

from activities.attempt import AttemptFailure, StepHeld, tried_until
from activities.live_objects import LiveObjects
from activities.revalidation import Revalidation, not_true
from health.evidence import (
    EvidenceDocument,
    EvidencePart,
    Retention,
    StoredEvidence,
    compose,
    is_well,
    kept_event,
    kept_node,
    kept_pod,
    kept_target,
    last_seen,
    text,
)
from health.kinds.registry import CHECK_KINDS
from health.model.evidence import LABEL, PREFIX, EvidenceRecord, evidence_name
from health.model.references import IncidentReference
from health.model.target import Target
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import AlreadyExists, KubernetesError, NotFound
from kube.resource import CONFIG_MAPS, EVENTS, NODES, PODS, Object, resource_of
from objects.durations import in_words
from objects.field_problem import unforeseen
from objects.metadata import ObjectMetadata
from objects.short_text import cut_with_hash
from objects.timestamps import stamp
from workflows.contracts import (
    EVIDENCE_LONGEST,
    EVIDENCE_READING,
    SAVE_EVIDENCE,
    EvidenceInput,
    EvidenceResult,
)

_LONGEST_LABEL = 63
_LONGEST_FACT = 300
_PRUNING = timedelta(milliseconds=500)
MOST_READ = 2000
"""The maximum of Events, which are kept for an hour, and of Pods."""
MOST_EVENTS = 100
MOST_PODS = 250
NODE_EVENTS = "default"
"""The namespace of Events about cluster-scoped objects."""


@dataclass(frozen=True)
class EvidenceReader:
    """Reads all parts for one incident at once, until the clock of the event loop reaches `ends`.

    A part that fails, or is not read in time, says why it is missing; the others are kept.
    """

    live: LiveObjects
    incident: IncidentReference
    target: Target
    ends: float

    async def parts(self) -> tuple[EvidencePart, ...]:
        """The parts in the order of their priority."""
        own = self.incident.target.kind.lower()
        reads = [
            self._tried(self._node, EvidencePart(name="node", is_list=False)),
            self._tried(self._node_events, EvidencePart(name="events-of-node")),
            self._tried(self._pods, EvidencePart(name="pods")),
        ]
        if resource_of(CHECK_KINDS[self.incident.check.group_kind].targets) != NODES:
            reads.insert(1, self._tried(self._own, EvidencePart(name=own, is_list=False)))
            reads.insert(2, self._tried(self._own_events, EvidencePart(name=f"events-of-{own}")))
        return tuple(await asyncio.gather(*reads))

    async def _tried(
        self, read: Callable[[EvidencePart], Awaitable[EvidencePart]], part: EvidencePart
    ) -> EvidencePart:
        too_late = f"it was not read within {in_words(EVIDENCE_READING)}"
        tried = await tried_until(self.ends, too_late, f"read {part.name}", read(part))
        return replace(part, unread=tried.why) if isinstance(tried, AttemptFailure) else tried

    async def _node(self, part: EvidencePart) -> EvidencePart:
        if not self.target.node_name:
            return replace(part, unread="the target is linked to none")
        client = (await self._node_cluster()).client
        return replace(part, items=(kept_node(await client.get(NODES, self.target.node_name)),))

    async def _own(self, part: EvidencePart) -> EvidencePart:
        management, target = self.live.management, self.incident.target
        kind = CHECK_KINDS[self.incident.check.group_kind].targets
        resource = await management.discovery.first_served(kind)
        found = await management.client.get(resource, target.name, target.namespace)
        return replace(part, items=(kept_target(found),))

    async def _node_events(self, part: EvidencePart) -> EvidencePart:
        if not self.target.node_name:
            return part
        about = f"involvedObject.kind={NODES.kind},involvedObject.name={self.target.node_name}"
        return await self._events(part, await self._node_cluster(), about, NODE_EVENTS)

    async def _own_events(self, part: EvidencePart) -> EvidencePart:
        target = self.incident.target
        about = f"involvedObject.kind={target.kind},involvedObject.uid={target.uid}"
        return await self._events(part, self.live.management, about, target.namespace)

    async def _events(
        self, part: EvidencePart, cluster: ClusterConnection, about: str, namespace: str
    ) -> EvidencePart:
        found, has_more = await cluster.client.list_some(EVENTS, about, namespace, most=MOST_READ)
        newest = sorted(found, key=last_seen, reverse=True)[:MOST_EVENTS]
        items = [kept_event(event) for event in newest]
        return replace(part, items=items, most=_most(found, MOST_EVENTS, has_more=has_more))

    async def _pods(self, part: EvidencePart) -> EvidencePart:
        if not self.target.node_name:
            return part
        client = (await self._node_cluster()).client
        on_node = f"spec.nodeName={self.target.node_name}"
        found, has_more = await client.list_some(PODS, on_node, most=MOST_READ)
        items = [kept_pod(pod) for pod in sorted(found, key=is_well)[:MOST_PODS]]  # the ailing first
        return replace(part, items=items, most=_most(found, MOST_PODS, has_more=has_more))

    async def _node_cluster(self) -> ClusterConnection:
        return await self.live.node_cluster_of(self.incident, self.target)


def _most(found: list[Object], kept: int, *, has_more: bool) -> str | None:
    if has_more:
        return f"{len(found)} or more"
    return str(len(found)) if len(found) > kept else None


@dataclass(frozen=True)
class Filing:
    """One incident's evidence, at the moment when it was taken."""

    incident: IncidentReference
    first_run_id: str
    at: datetime

    @property
    def name(self) -> str:
        """The same for every attempt, in any process."""
        return evidence_name(self.incident, self.first_run_id)


def label(value: str) -> str:
    """The value as a valid label: _ replaces /, and a hash replaces the end of a long value."""
    return cut_with_hash(value.replace("/", "_"), _LONGEST_LABEL)


@dataclass(frozen=True)
class EvidenceConfigMaps:
    """The evidence in the namespace of our processes, about Nodes of any cluster, with its retention.

    A ConfigMap is ours if it has our label and our prefix, and is deleted as it was listed (rule 52): other
    ConfigMaps share that namespace, among them the policy. Each method raises KubernetesError.
    """

    client: Client
    namespace: str
    retention: Retention

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:
        """Create it, with labels by which people select the evidence of one check, target or incident.

        An earlier attempt may have done so.
        """
        incident = filing.incident
        body: Object = {
            "apiVersion": CONFIG_MAPS.api_version,
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": filing.name,
                "labels": {
                    LABEL: "true",
                    "paramedic.dev/check": label(str(incident.check)),
                    "paramedic.dev/target": label(str(incident.target)),
                    "paramedic.dev/incident": label(incident.workflow_id),
                },
                # Values that do not fit into a label.
                "annotations": {
                    "paramedic.dev/workflow-id": incident.workflow_id,
                    "paramedic.dev/run-id": filing.first_run_id,
                    "paramedic.dev/taken-at": stamp(filing.at),
                },
            },
            "immutable": True,
            "data": dict(document.texts),
        }
        try:
            await self.client.create(CONFIG_MAPS, body, self.namespace)
        except AlreadyExists:
            if filing.name not in {config_map.name for config_map in await self._own()}:
                raise

    async def prune(self, now: datetime, newest: str | None = None) -> None:
        """Delete evidence beyond the retention; another worker may do so at the same time."""
        own = {config_map.name: config_map for config_map in await self._own()}
        kept = (StoredEvidence(stored.name, stored.creation_timestamp) for stored in own.values())
        over = self.retention.over(kept, now, newest)
        await asyncio.gather(*(self._delete(own[name]) for name in over))

    async def _own(self) -> list[ObjectMetadata]:
        listed = await self.client.list_metadata(CONFIG_MAPS, self.namespace, LABEL)
        found = (ObjectMetadata.model_validate(stored["metadata"]) for stored in listed)
        return [stored for stored in found if stored.name.startswith(PREFIX)]

    async def _delete(self, metadata: ObjectMetadata) -> None:
        with suppress(NotFound):
            await self.client.delete(
                CONFIG_MAPS,
                metadata.name,
                self.namespace,
                uid=metadata.uid,
                resource_version=metadata.resource_version,
            )


class SaveEvidenceActivity:
    """The activity `save_evidence`, which always answers in time."""

    def __init__(
        self,
        revalidation: Revalidation,
        config_maps: EvidenceConfigMaps,
        now: Callable[[], datetime],
    ) -> None:
        """`now` returns the current time by the API server's clock."""
        self._revalidation = revalidation
        self._config_maps = config_maps
        self._now = now

    @activity.defn(name=SAVE_EVIDENCE.name)
    async def save_evidence(self, evidence: EvidenceInput) -> EvidenceResult:
        """The place of the evidence, or why it is not saved, or why the step may not be taken."""
        name = evidence_name(evidence.incident, evidence.first_run_id)
        try:
            async with asyncio.timeout(EVIDENCE_LONGEST.total_seconds()):
                record = await self._saved(evidence)
        except StepHeld as error:
            if not evidence.is_shadow:
                return EvidenceResult(hold=error.hold)
            problem = str(error.hold)
        except KubernetesError as error:
            problem = error.message
        except TimeoutError:
            read, saved = in_words(EVIDENCE_READING), in_words(EVIDENCE_LONGEST)
            problem = f"the target was not read within {read}, or this not saved within {saved}"
        except Exception as error:  # noqa: BLE001  an unforeseen error must not stop the step
            activity.logger.warning("evidence not saved", exc_info=error)
            problem = unforeseen(error)
        else:
            # Old evidence; after a failure it is deleted with the next save.
            try:
                async with asyncio.timeout(_PRUNING.total_seconds()):
                    await self._config_maps.prune(self._now(), name)
            except (KubernetesError, TimeoutError) as error:
                activity.logger.warning("old evidence not deleted", exc_info=error)
            return EvidenceResult(record=record)
        return EvidenceResult(record=EvidenceRecord(name=name, at=self._now(), problem=text(problem)))

    async def _saved(self, evidence: EvidenceInput) -> EvidenceRecord:
        # Revalidate, as the act does.
        ends = asyncio.get_running_loop().time() + EVIDENCE_READING.total_seconds()
        async with asyncio.timeout_at(ends):
            confirmed = await self._revalidation.confirm(evidence)
        confirmed.refuse_other_step(evidence)
        if confirmed.check.choices.evidence is None:
            raise not_true(f"{evidence.incident.check} no longer wants evidence")
        # Read.
        target, incident = confirmed.target, evidence.incident
        parts = await EvidenceReader(self._revalidation.live, incident, target, ends).parts()
        # Save.
        filing = Filing(incident, evidence.first_run_id, self._now())
        facts = {
            "takenAt": stamp(filing.at),
            "workflow": incident.workflow_id,
            "run": evidence.first_run_id,
            "cluster": incident.cluster,
            "check": str(incident.check),
            "target": str(incident.target),
            "uid": incident.target.uid,
            "node": target.node_name,
            "clusterOfNode": target.node_cluster,
            "why": evidence.reason,
            "nextStep": evidence.step.order_for(incident.target),
            "shadow": "the step is recorded, and not taken" if evidence.is_shadow else "",
        }
        short = {key: text(value, _LONGEST_FACT) for key, value in facts.items() if value}
        document = compose(short, parts)
        await self._config_maps.save(filing, document)
        namespace = self._config_maps.namespace
        return EvidenceRecord(namespace=namespace, name=filing.name, at=filing.at, lacks=document.lacks)
