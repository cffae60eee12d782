"""Starts and wakes of incidents by scripted observations: the version of a target stands for all of it."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import pytest
from temporalio.service import RPCError, RPCStatusCode

from detector.dispatching import dispatch as dispatch_module
from detector.dispatching import incident_queues
from detector.dispatching.dispatch import CALLS_AT_ONCE, REFUSED, Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.incident_queues import Refusals
from detector.state.cluster_state import ClusterState
from health.model.admission import Intent
from health.model.observation import Hold, Observation, TargetState
from health.model.references import CheckReference, IncidentReference, RequestReference
from health.model.request_snapshot import RequestSnapshot
from kube import time_slice
from objects.backoff import Backoff
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import incident_of
from tests.support.values.builders import NOW, NoEarlierAttempts

ONE, OTHER = incident_of("one"), incident_of("other")


def request(version: int) -> RequestSnapshot:
    names = {"api_version": "example.com/v1", "kind": "Reboot", "namespace": "ns", "name": "one"}
    return RequestSnapshot(reference=RequestReference(**names, uid=f"request-{version}"), created=NOW)


class Incidents(ClusterState, IncidentCalls):
    """The targets that need an incident, each at a version, and the calls for their incidents."""

    def __init__(self) -> None:
        ClusterState.__init__(self, "main-0a1b")
        self.versions = {ONE: 1}
        self.listed: list[ListedIncident] = []
        self.calls: list[str] = []
        self.gone: set[IncidentReference] = set()
        self.expired: set[int] = set()
        """The versions for which a target must have an incident."""
        self.silent = 0
        """How many calls are not answered yet."""
        self.broken: dict[IncidentReference, int] = {}
        """The incidents whose starts fail with an error of a database, and how often they failed."""
        self.refused: dict[IncidentReference, str] = {}

    def wanted(self, check: CheckReference, target: str) -> frozenset[IncidentReference]:  # noqa: ARG002  there is one
        return frozenset(incident for incident in self.versions if incident.target.name == target)

    def all_wanted(self) -> Iterator[IncidentReference]:
        yield from tuple(self.versions)

    def found(self, incident: IncidentReference, hold: Hold | None) -> None:
        self.refused[incident] = "" if hold is None else hold.message

    def observe(self, incident: IncidentReference) -> Observation:
        return self.at(self.versions.get(incident, 0))

    def at(self, version: int) -> Observation:
        """Each version brings news, and a request that the one before did not have."""
        state = TargetState.EXPIRED if version in self.expired else TargetState.HEALTHY
        requests = tuple(request(number + 1) for number in range(version))
        return Observation(state=state, reason="", generation=version, requests=requests)

    async def start(self, incident: IncidentReference, observation: Observation, *_: object) -> None:
        if incident in self.broken:
            self.broken[incident] += 1
            raise RPCError("pq: value too long", RPCStatusCode.UNAVAILABLE, b"")
        self._answer(f"start {incident.target.name} at {observation.generation}")

    async def wake(self, incident: IncidentReference) -> None:
        if incident in self.gone:
            self.gone.discard(incident)
            raise RPCError("workflow execution already completed", RPCStatusCode.NOT_FOUND, b"")
        self._answer(f"wake {incident.target.name} at {self.versions.get(incident, 0)}")

    async def wake_workflow(self, workflow_id: str) -> None:
        self._answer(f"wake {workflow_id}")

    async def running(self) -> list[ListedIncident]:
        return self.listed

    def _answer(self, call: str) -> None:
        if self.silent:
            self.silent -= 1
            raise RPCError("tcp connect error", RPCStatusCode.UNAVAILABLE, b"")
        self.calls.append(call)


def listed(*incidents: IncidentReference) -> list[ListedIncident]:
    return [ListedIncident(incident.workflow_id, incident) for incident in incidents]


def as_observed(_: IncidentReference, observation: Observation, __: object) -> Observation:
    return observation


@asynccontextmanager
async def leading(incidents: Incidents) -> AsyncIterator[Dispatch]:
    def now() -> datetime:
        return NOW

    dispatch = Dispatch(
        incidents,
        incidents,
        lambda incident: incidents.observe(incident),  # noqa: PLW0108  a test replaces it
        is_leader=lambda: True,
        now=now,
        problems=Problems(),
        answered=as_observed,
        earlier_attempts=NoEarlierAttempts(),
    )
    lead = asyncio.create_task(dispatch.lead())
    yield dispatch
    assert not lead.done()
    lead.cancel()
    with suppress(asyncio.CancelledError):
        await lead


def consider(dispatch: Dispatch, incident: IncidentReference) -> None:
    dispatch.changed(incident.check, incident.target.name)


async def called(incidents: Incidents, *calls: str) -> None:
    await eventually(lambda: incidents.calls == [*calls])


async def test_wanted_workflow_is_started_and_woken_when_it_needs_newer_facts() -> None:
    incidents = Incidents()
    async with leading(incidents) as dispatch:
        await called(incidents, "start one at 1")
        consider(dispatch, ONE)
        incidents.versions |= {ONE: 2, OTHER: 1}
        consider(dispatch, ONE)
        consider(dispatch, OTHER)
        await called(incidents, "start one at 1", "start other at 1", "wake one at 2")


async def test_target_is_observed_once_for_one_start() -> None:
    incidents, observed = Incidents(), list[IncidentReference]()

    def observe(incident: IncidentReference) -> Observation:
        observed.append(incident)
        return incidents.at(1)

    incidents.observe = observe  # type: ignore[method-assign]
    async with leading(incidents):
        await called(incidents, "start one at 1")
        assert observed == [ONE]


async def test_answered_incident_is_not_compared_with_what_it_was_answered() -> None:
    incidents, observed = Incidents(), list[IncidentReference]()

    def observe(incident: IncidentReference) -> Observation:
        observed.append(incident)
        return incidents.at(1)

    incidents.observe = observe  # type: ignore[method-assign]
    async with leading(incidents) as dispatch:
        await called(incidents, "start one at 1")
        consider(dispatch, ONE)
        dispatch.answer(ONE, incidents.at(1), incidents.at(1), Intent())
        incidents.versions |= {OTHER: 1}
        consider(dispatch, OTHER)
        await called(incidents, "start one at 1", "start other at 1")
        assert observed == [ONE, OTHER]


async def test_one_that_ended_is_started_anew_for_what_it_did_not_know() -> None:
    incidents = Incidents()
    async with leading(incidents) as dispatch:
        await called(incidents, "start one at 1")
        incidents.gone.add(ONE)
        incidents.versions[ONE] = 2
        consider(dispatch, ONE)
        await called(incidents, "start one at 1", "start one at 2")


async def test_listed_incident_is_woken_also_if_unwanted_or_started_by_hand() -> None:
    incidents = Incidents()
    incidents.versions = {}
    incidents.listed = [*listed(OTHER), ListedIncident("by-hand", None)]
    async with leading(incidents):
        await eventually(lambda: sorted(incidents.calls) == ["wake by-hand", "wake other at 0"])


async def test_call_that_is_not_answered_is_repeated() -> None:
    incidents = Incidents()
    incidents.silent = 1
    async with leading(incidents):
        await called(incidents, "start one at 1")


async def test_workflows_that_fail_while_others_succeed_are_refused_and_pause_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch_module, "UNANSWERED", Backoff(timedelta(), timedelta()))
    monkeypatch.setattr(dispatch_module, "REFUSED_SECONDS", 0.01)
    incidents = Incidents()
    incidents.broken = {incident_of(f"broken-{number}"): 0 for number in range(2 * CALLS_AT_ONCE)}
    incidents.versions = dict.fromkeys(incidents.broken, 1)
    async with leading(incidents) as dispatch:
        await eventually(lambda: all(failed > 1 for failed in incidents.broken.values()))
        assert not incidents.refused, "no other call succeeded"
        incidents.versions[ONE] = 1
        consider(dispatch, ONE)
        await eventually(lambda: incidents.refused.keys() == incidents.broken.keys())
        assert set(incidents.refused.values()) == {f"{REFUSED}: Unavailable: pq: value too long"}
        assert len(dispatch.refused()) == len(incidents.broken)

        monkeypatch.setattr(dispatch_module, "UNANSWERED", Backoff(timedelta(hours=1), timedelta(hours=1)))
        before = dict(incidents.broken)
        await eventually(lambda: all(incidents.broken[node] > before[node] + 1 for node in before))
        incidents.versions[OTHER] = 1
        consider(dispatch, OTHER)
        await called(incidents, "start one at 1", "start other at 1")

        healed = next(iter(incidents.broken))
        del incidents.broken[healed]
        await eventually(lambda: not incidents.refused[healed])
        assert len(dispatch.refused()) == len(incidents.broken)


@pytest.mark.parametrize(
    ("status", "message", "at_once", "later"),
    [
        (RPCStatusCode.INVALID_ARGUMENT, "WorkflowId length exceeds limit.", True, True),
        (RPCStatusCode.UNAVAILABLE, "pq: value too long", False, True),
        (RPCStatusCode.UNAVAILABLE, "tcp connect error", False, False),
        (RPCStatusCode.RESOURCE_EXHAUSTED, "namespace rate limit exceeded", False, False),
        (RPCStatusCode.PERMISSION_DENIED, "Request unauthorized.", False, False),
    ],
)
def test_error_is_of_one_workflow_if_it_says_so_or_repeats_while_others_succeed(
    status: RPCStatusCode, message: str, *, at_once: bool, later: bool
) -> None:
    refusals, error = Refusals(lambda _incident, _why: None), RPCError(message, status, b"")
    assert refusals.is_refused_after(ONE, error) is at_once
    assert refusals.is_refused_after(ONE, error) is at_once
    refusals.succeeded(OTHER)
    assert refusals.is_refused_after(ONE, error) is later
    assert refusals.is_refused_after(ONE, error) is later, "also if no other call was made since"
    refusals.forget(ONE)
    assert refusals.is_refused_after(ONE, error) is at_once


async def test_incident_of_a_flapping_target_is_woken_once_a_second_and_learns_the_latest() -> None:
    incidents = Incidents()
    woken: list[float] = []
    loop = asyncio.get_running_loop()
    async with leading(incidents) as dispatch:
        await called(incidents, "start one at 1")
        while len(incidents.calls) < 4:
            known = len(incidents.calls)
            incidents.versions[ONE] += 1
            consider(dispatch, ONE)
            await asyncio.sleep(0)
            woken += [loop.time()] * (len(incidents.calls) - known)
        last = incidents.versions[ONE]
        await eventually(lambda: incidents.calls[-1] == f"wake one at {last}")

    assert min(later - earlier for earlier, later in itertools.pairwise(woken)) > 0.9


async def test_start_is_not_delayed_by_a_wake_a_moment_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident_queues, "BETWEEN_WAKES_SECONDS", 3600)
    incidents = Incidents()
    incidents.expired = {1, 3}
    async with leading(incidents) as dispatch:
        await called(incidents, "start one at 1")
        for version in (2, 3):
            incidents.versions[ONE] = version
            consider(dispatch, ONE)
            await eventually(lambda calls=version: len(incidents.calls) == calls)  # type: ignore[misc]
        assert incidents.calls == ["start one at 1", "wake one at 2", "start one at 3"]


async def test_thousands_are_compared_in_pieces_and_one_to_start_first() -> None:
    incidents, nodes = Incidents(), [incident_of(f"node-{number}") for number in range(300)]
    incidents.versions = dict.fromkeys(nodes, 1)
    turns = 0

    def slow(incident: IncidentReference) -> Observation:
        busy_until = time.monotonic() + 0.001
        while time.monotonic() < busy_until:
            pass
        observed.append((incident, turns))
        return incidents.at(1)

    observed: list[tuple[IncidentReference, int]] = []
    async with leading(incidents) as dispatch:
        await eventually(lambda: len(incidents.calls) == len(nodes))
        incidents.versions[ONE] = 1
        incidents.observe = slow  # type: ignore[method-assign]
        for node in (*nodes, *nodes, ONE):
            consider(dispatch, node)
        while len(observed) < len(nodes) + 1:
            await asyncio.sleep(0)
            turns += 1

    assert [incident for incident, _ in observed].index(ONE) < 20
    assert len({turn for _, turn in observed}) >= 30


async def test_reconciliation_lets_other_tasks_run_between_two_workflows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    incidents, nodes = Incidents(), [incident_of(f"node-{number}") for number in range(20)]
    incidents.versions = dict.fromkeys(nodes, 1)
    incidents.listed = listed(*nodes)
    turns, considered = 0, list[int]()

    async with leading(incidents) as dispatch:
        considering = dispatch._consider  # noqa: SLF001  the reconciliation calls it

        def counted(incident: IncidentReference) -> None:
            considered.append(turns)
            considering(incident)

        monkeypatch.setattr(dispatch, "_consider", counted)
        while len(considered) < 3 * len(nodes):  # at the start, and twice by the first reconciliation
            await asyncio.sleep(0)
            turns += 1

    assert len(set(considered)) >= 2 * len(nodes)


async def test_workflow_that_ended_after_it_was_listed_is_not_taken_for_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0.0)
    incidents = Incidents()
    incidents.versions = {}
    is_listed = asyncio.Event()

    async def running() -> list[ListedIncident]:
        await is_listed.wait()
        return listed(ONE, OTHER)

    incidents.running = running  # type: ignore[method-assign]
    incidents.gone.add(ONE)
    async with leading(incidents) as dispatch:
        await asyncio.sleep(0)
        dispatch.answer(ONE, incidents.at(1), incidents.at(1), Intent())
        consider(dispatch, ONE)
        await eventually(lambda: ONE not in incidents.gone)
        incidents.gone.add(ONE)
        is_listed.set()
        await called(incidents, "wake other at 0")
        assert not dispatch.is_heard(ONE)


async def test_other_tasks_run_between_the_calls_that_follow_answers_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_slice, "LONGEST_SECONDS", 0)
    incidents, answers = Incidents(), asyncio.Event()
    incidents.versions = {incident_of(f"node-{number}"): 1 for number in range(2 * CALLS_AT_ONCE)}
    start = incidents.start

    async def start_and_wait(incident: IncidentReference, observation: Observation, *_: object) -> None:
        await start(incident, observation)
        await answers.wait()

    monkeypatch.setattr(incidents, "start", start_and_wait)
    longest = 0
    async with leading(incidents):
        await eventually(lambda: len(incidents.calls) == CALLS_AT_ONCE)
        answers.set()
        while len(incidents.calls) < 2 * CALLS_AT_ONCE:
            before = len(incidents.calls)
            await asyncio.sleep(0)
            longest = max(longest, len(incidents.calls) - before)
    assert longest == 1
