"""Runs the activities of a worker without a Temporal server."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.act import Act
from activities.attempt import Clock
from activities.event_recorder import EventRecorder
from activities.live_objects import LiveObjects
from activities.maintenance import Maintenance
from activities.registry import KIND_ACTIVITIES
from activities.requests import OwnRequests
from activities.revalidation import Revalidation
from activities.save_evidence import EvidenceConfigMaps, SaveEvidenceActivity
from activities.target_lease import TargetLeases
from health.evidence import Retention
from health.model.observation import Hold, HoldReason
from health.model.request_snapshot import RequestSnapshot
from kube.client import Client
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.transport import Transport
from objects.clusters import INSTALLATION_LABEL
from tests.activities.world import LEASE_NAMESPACE
from workflows.contracts import (
    ActInput,
    ActResult,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    EvidenceInput,
    EvidenceResult,
    RenewInput,
    RenewResult,
)


def _now() -> datetime:
    return datetime.now(UTC)


POLICY_NAMESPACE = "paramedic-system"
PLENTY = Retention(1000, timedelta(days=1))
LABELS = {INSTALLATION_LABEL: "tests"}
"""Those of each object that the worker makes, takes over or adopts."""


class WorkerActivities:
    def __init__(
        self,
        transport: Transport,
        lease_namespace: str = LEASE_NAMESPACE,
        client: Client | None = None,
        *,
        removes_confirmations: bool = True,
        requires_policy: bool = False,
    ) -> None:
        self._client = client or Client(transport, "tests", LABELS)
        connection = ClusterConnection(transport, self._client)
        self._leases = TargetLeases(self._client, lease_namespace)
        self.workload_clusters = WorkloadConnections(self._client)
        clusters = ClusterConnections(connection, self.workload_clusters)
        live = LiveObjects(clusters, KIND_ACTIVITIES)
        self._maintenance = Maintenance(
            OwnRequests(live), self._leases, _now, removes_confirmations=removes_confirmations
        )
        self._revalidation = Revalidation(
            live, lease_namespace, POLICY_NAMESPACE, requires_policy=requires_policy
        )

    async def act(
        self,
        asked: ActInput,
        *,
        waited: timedelta = timedelta(),
        now: Callable[[], datetime] = _now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> ActResult:
        environment = ActivityEnvironment()
        started = environment.info.scheduled_time + waited
        environment.info = replace(environment.info, started_time=started)
        clock = Clock(now, monotonic)
        act = Act(self._leases, self._revalidation, clock, EventRecorder(self._client, "tests", _now))
        return await environment.run(act.act, asked)

    async def requested(self, asked: ActInput) -> RequestSnapshot:
        """The request of an act that must not be held."""
        request = (await self.act(asked)).request
        assert request is not None
        return request

    async def held(self, asked: ActInput, reason: HoldReason, words: str = "", **clocks: Any) -> Hold:
        """The hold of an act that must be held for that reason, with these words in its message."""
        hold = (await self.act(asked, **clocks)).hold
        assert hold is not None
        assert hold.reason is reason
        assert words in hold.message
        return hold

    async def annotate(self, annotation: AnnotateInput) -> AnnotateResult:
        return await ActivityEnvironment().run(self._maintenance.annotate, annotation)

    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        return await ActivityEnvironment().run(self._maintenance.clean_up, asked)

    async def renew(self, renewal: RenewInput) -> RenewResult:
        return await ActivityEnvironment().run(self._maintenance.renew, renewal)

    async def save_evidence(
        self, evidence: EvidenceInput, config_maps: EvidenceConfigMaps | None = None
    ) -> EvidenceResult:
        save = SaveEvidenceActivity(self._revalidation, config_maps or self.config_maps(), _now)
        return await ActivityEnvironment().run(save.save_evidence, evidence)

    def config_maps(
        self, namespace: str = POLICY_NAMESPACE, retention: Retention = PLENTY
    ) -> EvidenceConfigMaps:
        return EvidenceConfigMaps(self._client, namespace, retention)
