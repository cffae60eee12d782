"""SimulatedLeader: a detector that leads over 5,000 unhealthy Nodes, in the process of the bench.

The cluster state and its handlers are those of a detector; calls of Temporal are answered at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.attempts.attempts import AttemptReading, Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.context.sources_of_checks import CheckFreshness
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.limits.remediation_limits import RemediationLimits
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.kinds.registry import CHECK_KINDS
from health.model.node import ZONE_LABEL, Node
from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_request import NODE_NAME, TARGET_UID
from health.model.target import node_name
from health.policy.policy import DEFAULTS, Policy
from objects.durations import in_words
from objects.timestamps import stamp
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems

TARGETS = 5_000
NAMES = tuple(f"node-{number}" for number in range(TARGETS))
CREATED = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = CREATED + timedelta(hours=1)
CHECK = CheckReference(kind="NodeHealthCheck", name="workers")
KIND = CHECK_KINDS[CHECK.group_kind]
DURATION = timedelta(minutes=5)
"""How long a Node is Unknown before the check calls it expired."""
_TEMPLATE = {"apiVersion": "example.com/v1", "kind": "RebootTemplate", "namespace": "a", "name": "reboot"}


def metadata(name: str, namespace: str = "") -> dict[str, object]:
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": stamp(CREATED),
    }


def check_object(min_healthy: int | str = 0, generation: int = 1) -> dict[str, object]:
    return {
        "apiVersion": KIND.api_version,
        "kind": CHECK.kind,
        "metadata": metadata(CHECK.name) | {"generation": generation},
        "spec": {
            "selector": {"matchLabels": {"role": "worker"}},
            "minHealthy": min_healthy,
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "duration": in_words(DURATION)}],
            "remediationTemplate": _TEMPLATE,
        },
    }


def unknown_node(name: str, failed: datetime, zone: str = "zone-0") -> dict[str, object]:
    """A Node that has been Unknown since `failed`."""
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": stamp(failed)}
    labels = {"role": "worker", ZONE_LABEL: zone}
    return {"metadata": metadata(name) | {"labels": labels}, "status": {"conditions": [condition]}}


class AnsweredCalls(IncidentCalls):
    """Answers calls of Temporal at once, and keeps the open incidents."""

    def __init__(self) -> None:
        self.open: dict[str, IncidentReference] = {}

    async def start(self, incident: IncidentReference, *_: object) -> None:
        self.open[incident.workflow_id] = incident

    async def wake_workflow(self, workflow_id: str) -> None:
        """Do nothing: the measure ends with the call."""

    async def running(self) -> list[ListedIncident]:
        return [ListedIncident(name, incident) for name, incident in self.open.items()]


class SimulatedLeader:
    """It has led for an hour; its Nodes failed at one moment."""

    def __init__(self, policy: Policy = DEFAULTS, failed: datetime = CREATED) -> None:
        state, self._clock = ClusterState("bench"), CREATED
        self.state, self.calls = state, AnsweredCalls()
        self.attempts = Attempts(lambda: policy, state, self._now)
        self.limits = RemediationLimits(state, lambda: policy, lambda *_: False, self._now)
        self.limits.complete()
        self.attempts.complete()
        storms = Storms(state, lambda _: True, self._now)
        self.observer = Observer(
            cluster_state=state,
            freshness=lambda _: CheckFreshness(),
            storms=storms,
            back_off=self.attempts.before,
            limits=self.limits,
            now=self._now,
        )
        self._heard: set[str] = set()
        self._observed: set[str] = set()
        self._dispatch = Dispatch(
            self.calls,
            state,
            self._observe,
            is_leader=lambda: True,
            now=self._now,
            problems=Problems(),
            answered=self.limits.answered,
            earlier_attempts=AttemptReading(self.calls, self.attempts, state, Problems()),
        )
        ends = UnrequestedEnds(state, self.attempts, lambda _: True, self._now)
        handlers = storms.changed, ends.changed, self.limits.changed, self._dispatch.changed, self._hear
        for changed in handlers:
            state.event_handlers.add_change_handler(changed)
        state.check_changed(KIND, CHECK, CheckRecord.model_validate(check_object()))
        for number, name in enumerate(NAMES):
            node = Node.model_validate(unknown_node(name, failed, f"zone-{number % 3}"))
            state.target_changed(node_name(name), node)
        self.set_clock(ASKED)

    def set_clock(self, now: datetime) -> None:
        self._clock = now

    def _now(self) -> datetime:
        return self._clock

    def _hear(self, check: CheckReference, target: str | None) -> None:  # noqa: ARG002  there is one check
        if target is not None:
            self._heard.add(target)

    def _observe(self, incident: IncidentReference) -> Observation:
        self._observed.add(incident.target.name)
        return self.observer.observe(incident)

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        """Lead, with an open incident for each Node."""
        tasks = [asyncio.create_task(self.state.resync.run()), asyncio.create_task(self._dispatch.lead())]
        while len(self.calls.open) < TARGETS:  # noqa: ASYNC110  an event per call would be part of the measure
            await asyncio.sleep(0.01)
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def compare_all_after(self, change: Callable[[], object]) -> None:
        """Return when handlers heard of each target, and each incident was compared, since the change."""
        async with self.leading():
            self._heard.clear()
            self._observed.clear()
            change()
            while len(self._heard) < TARGETS or len(self._observed) < TARGETS:  # noqa: ASYNC110  as above
                await asyncio.sleep(0.01)


def request_object(name: str) -> Mapping[str, object]:
    """The request for a Node, of the check of a SimulatedLeader."""
    owner = {"apiVersion": KIND.api_version, "kind": CHECK.kind, "name": CHECK.name, "uid": "uid-workers"}
    annotations = {NODE_NAME: name, TARGET_UID: f"uid-{name}"}
    more = {"ownerReferences": [owner], "annotations": annotations}
    return {"metadata": metadata(f"request-{name}", "a") | more}
