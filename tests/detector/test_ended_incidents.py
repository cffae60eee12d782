"""Which incidents start or wake again: after their end, for a late request, or by a threshold."""

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
    await eventually(lambda: made.calls.names == ["good"])
    await eventually(lambda: len(made.dispatch.refused()) == CALLS_AT_ONCE)
    state, one = made.cluster.cluster_state, incident_of("bad-1")
    hold = state.act_findings.of(one.check, one.target.name, one.target.uid)
    assert str(hold) == (
        "TemporalRefuses: Temporal refuses to start or wake its incident: InvalidArgument: the id is too long"
    )
    assert f"{one.workflow_id}: InvalidArgument: the id is too long" in made.dispatch.refused()
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


ANOTHER = "node-2"


@pytest.fixture
async def admitted() -> AsyncIterator[Detector]:
    """A leading admitted that has started the incident of a node with an admission."""
    made = Detector()
    made.cluster.check(minHealthy=0)
    made.fail(NODE)
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.names == [NODE])
    yield made
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


def is_reported(admitted: Detector, *, would_act: bool = True) -> None:
    """Let the incident of the node ask, and return the answer."""
    observation = admitted.observe(incident_of(NODE))
    admitted.dispatch.answer(incident_of(NODE), observation, observation, Intent(would_act=would_act))


async def woken(admitted: Detector) -> list[str]:
    """The incidents that were started or woken, by name; a node that fails now ends the wait."""
    admitted.fail(ANOTHER)
    await eventually(lambda: ANOTHER in admitted.calls.names)
    return sorted(admitted.calls.names[1:])


@pytest.mark.rule("rule 41/late")
async def test_request_that_an_incident_makes_on_its_admission_wakes_no_incident(admitted: Detector) -> None:
    admitted.cluster.request(NODE)
    assert await woken(admitted) == [ANOTHER]


@pytest.mark.rule("rule 41/late")
async def test_request_that_appears_after_the_time_of_an_act_wakes_its_incident(
    admitted: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detector.dispatching.dispatch.ACTED_ON_WITHIN", timedelta())
    admitted.cluster.request(NODE)
    await eventually(lambda: admitted.calls.names == [NODE, NODE])
    admitted.cluster.request(NODE)
    assert admitted.calls.names.count(NODE) == 2


@pytest.mark.rule("rule 41/late")
async def test_request_of_an_incident_that_is_left_alone_wakes_it_at_once(admitted: Detector) -> None:
    is_reported(admitted, would_act=False)
    admitted.cluster.request(NODE)
    await eventually(lambda: admitted.calls.names == [NODE, NODE])


@pytest.mark.rule("rule 41/late")
async def test_request_that_appears_after_the_end_of_its_incident_gets_another_at_once(
    admitted: Detector,
) -> None:
    admitted.cluster.node(NODE)
    await eventually(lambda: admitted.calls.looked == 1)
    is_reported(admitted)
    admitted.calls.has_ended = True

    admitted.cluster.request(NODE)
    await eventually(lambda: admitted.calls.names == [NODE, NODE])
    assert admitted.calls.looked == 2


OTHER, WELL = "another", "well"


@pytest.mark.rule("rule 4", "NHC 2.8/thresholds")
async def test_incident_that_the_threshold_held_is_woken_when_another_node_recovers() -> None:
    detector = Detector()
    detector.cluster.check(minHealthy=2)
    detector.cluster.node(WELL)
    for name in (NODE, OTHER):
        detector.fail(name)
    leading = asyncio.create_task(detector.dispatch.lead())
    await eventually(lambda: sorted(detector.calls.names) == sorted([NODE, OTHER]))

    detector.cluster.node(OTHER)
    await eventually(lambda: detector.calls.names.count(NODE) > 1)  # signal-with-start, as it may act now
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
