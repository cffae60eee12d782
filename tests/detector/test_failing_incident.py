"""An incident whose evaluation fails is held with the error; all others are answered."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from detector.answers.answering import ASK_AGAIN_SECONDS, never_failing
from detector.state.request_index import SeenRequest
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.node import Node
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import CheckReference, IncidentReference
from health.model.verdict import Verdict
from tests.detector.test_ended_incidents import Detector
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, incident_of

pytestmark = pytest.mark.rule("rule 8/incident")

BAD, GOOD, LATER = "bad", "good", "later"
ORIGINAL = NodeHealthCheck.verdict


@pytest.fixture(autouse=True)
def _one_node_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(check: NodeHealthCheck, node: Node, now: datetime, context: ClusterContext) -> Verdict:
        if node.metadata.name == BAD:
            raise OverflowError("date value out of range")
        return ORIGINAL(check, node, now, context)

    monkeypatch.setattr(NodeHealthCheck, "verdict", verdict)


class GuardedDetector(Detector):
    def observe(self, incident: IncidentReference) -> Observation:
        return never_failing(super().observe, self.cluster.cluster_state)(incident)

    def fail(self, name: str) -> None:
        self.cluster.node(name, ready="Unknown", since=self.now() - timedelta(minutes=9))


@pytest.fixture
async def detector() -> AsyncIterator[GuardedDetector]:
    made = GuardedDetector()
    made.cluster.check(minHealthy=0)
    leading = asyncio.create_task(made.dispatch.lead())
    yield made
    assert not leading.done()
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


def test_it_holds_for_a_minute_and_says_what_failed(caplog: pytest.LogCaptureFixture) -> None:
    detector = GuardedDetector()
    detector.cluster.check(minHealthy=0)
    detector.fail(BAD)
    detector.cluster.request(BAD)

    answers = [detector.observe(incident_of(BAD)) for _ in range(3)]

    assert answers[0].state is TargetState.UNKNOWN
    assert answers[0].hold is not None
    assert answers[0].hold.reason is HoldReason.FAILED
    what, why = "Node/bad by NodeHealthCheck/workers", "OverflowError: date value out of range"
    assert answers[0].hold.message == f"the detector cannot judge {what}: {why}"
    assert answers[0].hold.ask_again_seconds == ASK_AGAIN_SECONDS
    assert [request.reference.name for request in answers[0].requests] == [BAD]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert detector.observe(incident_of(GOOD)).state is TargetState.GONE


async def test_it_is_started_once_and_so_is_each_that_comes_before_or_after_it(
    detector: GuardedDetector,
) -> None:
    for name in (GOOD, BAD, LATER):
        detector.fail(name)

    await eventually(lambda: sorted(detector.calls.names) == sorted([BAD, GOOD, LATER]))
    (entry,) = [entry for entry in detector.dispatch.open_incidents if entry.incident.target.name == BAD]
    assert entry.last_observation is not None
    assert entry.last_observation.hold is not None
    assert entry.last_observation.hold.reason is HoldReason.FAILED


async def test_call_with_an_unexpected_error_delays_no_other_incident(
    detector: GuardedDetector, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = detector.calls.start

    async def fail_once(started: IncidentReference, observation: Observation, *_: object) -> None:
        if started.target.name == BAD:
            raise TypeError("no payload")
        await start(started, observation)

    monkeypatch.setattr(detector.calls, "start", fail_once)
    for number in range(25):  # more than are called at the same time
        detector.cluster.node(BAD, ready="Unknown", since=detector.now() - timedelta(minutes=9 + number))
        await asyncio.sleep(0)
    detector.fail(GOOD)

    await eventually(lambda: GOOD in detector.calls.names)


def test_event_handler_that_fails_keeps_no_other_from_its_events() -> None:
    detector = GuardedDetector()
    told: list[str | None] = []

    def spoil(check: CheckReference, target: str | None) -> None:
        raise ValueError(f"{check} {target}")

    def spoil_request(before: SeenRequest | None, after: SeenRequest | None) -> None:
        raise ValueError(f"{before} {after}")

    detector.cluster.cluster_state.event_handlers.add_change_handler(spoil)
    detector.cluster.cluster_state.event_handlers.add_change_handler(lambda _, target: told.append(target))
    detector.cluster.cluster_state.event_handlers.add_request_handler(spoil_request)
    detector.cluster.check(minHealthy=0)
    detector.fail(GOOD)
    detector.cluster.request(GOOD)

    assert told.count(GOOD) >= 2
    assert detector.cluster.cluster_state.requests.targets_of(CHECK) == {GOOD}


@pytest.mark.rule("rule 3")
def test_target_that_cannot_be_counted_counts_against_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = GuardedDetector()

    def is_unhealthy(_: NodeHealthCheck, node: Node, context: ClusterContext) -> bool:  # noqa: ARG001  as the rule
        if node.metadata.name == BAD:
            raise ValueError("no condition")
        return False

    monkeypatch.setattr(NodeHealthCheck, "is_unhealthy", is_unhealthy)
    detector.cluster.check(minHealthy="100%")
    detector.cluster.node(GOOD)
    detector.cluster.node(BAD)

    allowance = detector.cluster.cluster_state.allowance(CHECK)
    assert allowance is not None
    assert (allowance.total, allowance.healthy, allowance.allowed) == (2, 1, False)
