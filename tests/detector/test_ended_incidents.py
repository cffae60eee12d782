"""An ended incident is not started again for a request that a late watch still shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching.dispatch import CALLS_AT_ONCE, Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from health.model.admission import Intent
from health.model.observation import Observation
from health.model.references import IncidentReference
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import SmallCluster, incident_of
from tests.support.values.builders import NoEarlierAttempts, without_limits

NODE = "node-1"


class NotedCalls(IncidentCalls):
    """Records the calls instead of calling Temporal."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.looked = 0
        self.has_ended = False
        self.refused: set[str] = set()

    @property
    def started(self) -> int:
        return len(self.names)

    async def start(self, incident: IncidentReference, *_: object) -> None:
        if incident.target.name in self.refused:
            raise RPCError("the id is too long", RPCStatusCode.INVALID_ARGUMENT, b"")
        self.names.append(incident.target.name)
        self.has_ended = False

    async def wake(self, incident: IncidentReference) -> None:  # noqa: ARG002  there is but one
        self.looked += 1
        if self.has_ended:
            raise RPCError("workflow execution already completed", RPCStatusCode.NOT_FOUND, b"")

    async def running(self) -> list[ListedIncident]:
        return []


class Detector:
    """A dispatch over a small cluster, on the real clock."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.now = self.now()
        self.calls = NotedCalls()
        self.handed_out: list[Observation] = []
        self.dispatch = Dispatch(
            self.calls,
            self.cluster.cluster_state,
            self.observe,
            is_leader=lambda: True,
            now=self.now,
            problems=Problems(),
            answered=self.hand_out,
            earlier_attempts=NoEarlierAttempts(),
        )
        self.cluster.cluster_state.event_handlers.add_change_handler(self.dispatch.changed)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def fail(self, name: str) -> None:
        """Let a node be unhealthy for longer than its timer."""
        self.cluster.node(name, ready="Unknown", since=self.now() - timedelta(minutes=9))

    def hand_out(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        self.handed_out.append(without_limits(incident, observation, intent))
        return self.handed_out[-1]

    def observe(self, incident: IncidentReference) -> Observation:
        return self.cluster.observe(incident.target.name, uid=incident.target.uid, now=self.now())


@pytest.fixture
async def detector() -> AsyncIterator[Detector]:
    """A leading detector that has started the incident of a node with a request."""
    made = Detector()
    made.cluster.check(minHealthy=0)
    made.fail(NODE)
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.started == 1)
    made.cluster.request(NODE)
    yield made
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


async def test_request_that_a_late_watch_shows_of_an_ended_incident_starts_no_second_one(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detector.dispatching.dispatch.ALL_SEEN", timedelta(seconds=0.2))
    detector.calls.has_ended = True
    detector.cluster.node(NODE)
    await eventually(lambda: detector.calls.looked == 1)
    all_seen = asyncio.Event()
    asyncio.get_running_loop().call_later(0.2, all_seen.set)
    detector.cluster.delete_request(NODE)
    await all_seen.wait()
    detector.fail("another")
    await eventually(lambda: detector.calls.started == 2)
    assert detector.calls.names == [NODE, "another"]


async def test_request_that_is_still_there_when_all_is_seen_gets_an_incident(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detector.dispatching.dispatch.ALL_SEEN", timedelta(seconds=0.2))
    detector.calls.has_ended = True
    detector.cluster.node(NODE)
    await eventually(lambda: detector.calls.looked == 1)
    assert detector.calls.started == 1
    await eventually(lambda: detector.calls.started == 2)


async def test_node_that_fails_again_gets_an_incident_at_once(detector: Detector) -> None:
    detector.cluster.node(NODE)
    await eventually(lambda: detector.calls.looked == 1)
    detector.calls.has_ended = True
    detector.cluster.node(NODE, ready="Unknown")
    await eventually(lambda: detector.calls.started == 2)


async def test_new_leader_starts_the_overdue_target_before_those_that_wait() -> None:
    made = Detector()
    made.cluster.check(minHealthy=0)
    names = [f"waits-{minutes}" for minutes in range(5)]
    for minutes, name in enumerate(names):
        made.cluster.node(name, ready="Unknown", since=made.now() - timedelta(minutes=minutes))
    made.fail("overdue")
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.names == ["overdue", *reversed(names)])
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


async def test_incident_that_temporal_refuses_for_good_keeps_no_other_from_being_started() -> None:
    made = Detector()
    made.cluster.check(minHealthy=0)
    made.calls.refused = {f"bad-{number}" for number in range(CALLS_AT_ONCE)}
    leading = asyncio.create_task(made.dispatch.lead())
    for name in (*sorted(made.calls.refused), "good"):
        made.fail(name)
    await eventually(lambda: made.calls.names == ["good"], 10)
    await eventually(lambda: len(made.dispatch.refused()) == CALLS_AT_ONCE, 10)
    state, one = made.cluster.cluster_state, incident_of("bad-1")
    hold = state.act_findings.of(one.check, one.target.name, one.target.uid)
    assert str(hold) == (
        "TemporalRefuses: Temporal refuses to start or wake its incident: InvalidArgument: the id is too long"
    )
    assert f"{one.workflow_id}: InvalidArgument: the id is too long" in made.dispatch.refused()
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
