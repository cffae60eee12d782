"""How long 5,000 open incidents of one check stop the event loop: cases of `python -m bench bounds`.

The cluster state and its handlers are those of a detector; calls of Temporal are answered at once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from bench.workers import CHECK, KIND, check_object, unknown_node
from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.attempts.attempts import AttemptReading, Attempts
from detector.attempts.unrequested_ends import UnrequestedEnds
from detector.context.sources_of_checks import CheckFreshness
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.inspection.inspector import Inspector
from detector.limits.remediation_limits import RemediationLimits
from detector.reporting.snapshot_builder import SnapshotBuilder, rendered
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.model.node import Node
from health.model.observation import Hold, Observation
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_request import NODE_NAME, TARGET_UID, RemediationRequest
from health.model.target import node_name
from health.policy.policy import DEFAULTS, Policy
from objects.timestamps import stamp
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from workflows.inspection_contracts import NameInput, SimulateInput

_TARGETS = 5_000
_CREATED, _NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 1, tzinfo=UTC)
_NAMES = tuple(f"node-{number}" for number in range(_TARGETS))

Work = Callable[[], Awaitable[object]]


class _Calls(IncidentCalls):
    """Answers calls of Temporal at once, and keeps the open incidents."""

    def __init__(self) -> None:
        self.open: dict[str, IncidentReference] = {}

    async def start(self, incident: IncidentReference, *_: object) -> None:
        self.open[incident.workflow_id] = incident

    async def wake_workflow(self, workflow_id: str) -> None:
        """Do nothing: the measure ends with the call."""

    async def running(self) -> list[ListedIncident]:
        return [ListedIncident(name, incident) for name, incident in self.open.items()]


class _Crowd:
    """A detector that leads, with one check of 5,000 Nodes that are unhealthy for an hour."""

    def __init__(self) -> None:
        state = self.state = ClusterState("bench")
        self.heard: set[str] = set()
        self.observed: set[str] = set()
        self.clock: Hold | None = None
        self.storms = Storms(state, lambda _: True, _now)
        self.attempts = Attempts(_policy, state, _now)
        limits = RemediationLimits(state, _policy, lambda *_: True, _now)
        observer = self.observer = Observer(
            cluster_state=state,
            freshness=lambda _: CheckFreshness(clock=self.clock),
            storms=self.storms,
            back_off=self.attempts.before,
            limits=limits,
            now=_now,
        )
        self._observe = observer.observe
        self.calls = _Calls()
        self.dispatch = Dispatch(
            self.calls,
            state,
            self._observed,
            is_leader=lambda: True,
            now=_now,
            problems=Problems(),
            answered=limits.answered,
            earlier_attempts=AttemptReading(self.calls, self.attempts, state, Problems()),
        )
        ends = UnrequestedEnds(state, self.attempts, lambda _: True, _now)
        for changed in (
            self.storms.changed,
            ends.changed,
            limits.changed,
            self.dispatch.changed,
            self._hear,
        ):
            state.event_handlers.add_change_handler(changed)
        self._fill()

    def _fill(self) -> None:
        record = CheckRecord.model_validate(check_object(_CREATED))
        self.state.check_changed(KIND, CHECK, record)
        for name in _NAMES:
            self.state.target_changed(
                node_name(name), Node.model_validate(unknown_node(name, _CREATED, _CREATED))
            )

    def edit_check(self) -> None:
        edited = CheckRecord.model_validate(check_object(_CREATED, min_healthy=1))
        metadata = edited.metadata.model_copy(update={"generation": 2})
        self.state.check_changed(KIND, CHECK, edited.model_copy(update={"metadata": metadata}))

    def request_all(self) -> None:
        for name in _NAMES:
            request = RemediationRequest.model_validate(_request(name))
            self.state.request_changed("example.com/v1", "Reboot", request, exists=True)

    def _hear(self, check: CheckReference, target: str | None) -> None:  # noqa: ARG002  there is one check
        if target is not None:
            self.heard.add(target)

    def _observed(self, incident: IncidentReference) -> Observation:
        self.observed.add(incident.target.name)
        return self._observe(incident)

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        """Lead, with an open incident for each Node."""
        tasks = [asyncio.create_task(self.state.resync.run()), asyncio.create_task(self.dispatch.lead())]
        while len(self.calls.open) < _TARGETS:  # noqa: ASYNC110  an event per call would be part of the measure
            await asyncio.sleep(0.01)
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def all_compared_after(self, change: Callable[[], None]) -> None:
        """Return when handlers heard of each target, and each incident was compared, since the change."""
        self.heard.clear()
        self.observed.clear()
        change()
        while len(self.heard) < _TARGETS or len(self.observed) < _TARGETS:  # noqa: ASYNC110  as above
            await asyncio.sleep(0.01)


def _policy() -> Policy:
    return DEFAULTS


def _now() -> datetime:
    return _NOW


def _request(name: str) -> Mapping[str, object]:
    owner = {
        "apiVersion": KIND.api_version,
        "kind": "NodeHealthCheck",
        "name": "workers",
        "uid": "u",
    }
    metadata = {
        "name": f"request-{name}",
        "uid": f"uid-request-{name}",
        "resourceVersion": "1",
        "creationTimestamp": _CREATED,
        "namespace": "a",
        "ownerReferences": [owner],
        "annotations": {NODE_NAME: name, TARGET_UID: f"uid-{name}"},
    }
    return {"metadata": metadata}


def _policy_edit() -> Work:
    crowd = _Crowd()

    async def work() -> None:
        async with crowd.leading():
            stopped = ClusterContext(stop=Stop("power work"))
            await crowd.all_compared_after(lambda: crowd.state.take_context(stopped))

    return work


def _check_edit() -> Work:
    crowd = _Crowd()

    async def work() -> None:
        async with crowd.leading():
            await crowd.all_compared_after(crowd.edit_check)

    return work


def _clock_skew() -> Work:
    crowd = _Crowd()

    async def work() -> None:
        async with crowd.leading():
            await crowd.all_compared_after(crowd.state.notify_all)

    return work


def _reconciliation() -> Work:
    """The start of a lead: what should be is compared with what is, twice."""
    crowd = _Crowd()

    async def work() -> None:
        async with crowd.leading():
            await asyncio.sleep(1)

    return work


def _report() -> Work:
    crowd = _Crowd()
    crowd.request_all()
    builder = SnapshotBuilder(crowd.state, crowd.attempts.before)

    async def work() -> None:
        draft = builder.draft(CHECK, None, _NOW)
        assert draft is not None
        snapshot = await draft.in_pieces()
        await rendered(snapshot, lambda: KIND.events(None, snapshot, {}, _NOW))
        await rendered(snapshot, lambda: KIND.status_patch(snapshot, {}, _NOW))

    return work


def _questions() -> Work:
    """The answers to `check` and `simulate` of the command."""
    crowd = _Crowd()
    inspector = Inspector(
        cluster_state=crowd.state,
        observer=crowd.observer,
        is_heard=lambda _: True,
        is_leader=lambda: True,
        identity="bench",
    )
    simulated = SimulateInput(text=json.dumps(check_object(_CREATED, min_healthy=1), default=stamp))

    async def work() -> None:
        await inspector.check(NameInput(name=CHECK.name))
        await inspector.simulate(simulated)

    return work


CASES: dict[str, Callable[[], Work]] = {
    "policy edit with 5,000 open incidents": _policy_edit,
    "edit of a check with 5,000 open incidents": _check_edit,
    "clock skew begins with 5,000 open incidents": _clock_skew,
    "reconciliation of 5,000 incidents": _reconciliation,
    "snapshot, Events and status of one check of 5,000": _report,
    "answers to check and simulate for 5,000 targets": _questions,
}
