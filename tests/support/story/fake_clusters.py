"""Many incidents that share a detector and a worker, each with a scripted cluster of its own."""

from collections.abc import Callable
from typing import Any

from temporalio import activity

from health.model.observation import Observation
from health.model.references import IncidentReference
from tests.support.story.fake_cluster import FakeCluster
from workflows.contracts import (
    ACT,
    ANNOTATE,
    CLEAN_UP,
    OBSERVE,
    RENEW,
    SAVE_EVIDENCE,
    ActInput,
    ActResult,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    EvidenceInput,
    EvidenceResult,
    ObserveInput,
    RenewInput,
    RenewResult,
)


class FakeClusters:
    """Passes each call to the cluster of its incident."""

    def __init__(self) -> None:
        self._clusters: dict[str, FakeCluster] = {}

    def add(self, incident: IncidentReference, cluster: FakeCluster) -> None:
        self._clusters[incident.workflow_id] = cluster

    def _of(self, incident: IncidentReference) -> FakeCluster:
        return self._clusters[incident.workflow_id]

    @property
    def detector(self) -> list[Callable[..., Any]]:
        return [self.observe]

    @property
    def worker(self) -> list[Callable[..., Any]]:
        return [self.save_evidence, self.act, self.clean_up, self.renew, self.annotate]

    @activity.defn(name=OBSERVE.name)
    async def observe(self, question: ObserveInput) -> Observation:
        return await self._of(question.incident).observe(question)

    @activity.defn(name=SAVE_EVIDENCE.name)
    async def save_evidence(self, evidence: EvidenceInput) -> EvidenceResult:
        return await self._of(evidence.incident).save_evidence(evidence)

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        return await self._of(act.incident).act(act)

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, clean_up: CleanUpInput) -> CleanUpResult:
        return await self._of(clean_up.incident).clean_up(clean_up)

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:
        return await self._of(renewal.incident).renew(renewal)

    @activity.defn(name=ANNOTATE.name)
    async def annotate(self, annotation: AnnotateInput) -> AnnotateResult:
        return await self._of(annotation.incident).annotate(annotation)
