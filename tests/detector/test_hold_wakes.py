"""The end of a hold wakes the incidents that it held: a storm, and a maintenance window."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from detector.answers.storms import Storms
from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from detector.state.check_state import CheckRecord
from health.check.storm import Storm
from health.cluster.cluster_context import ClusterContext
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.nodehealthcheck.status import storm_conditions
from health.model.observation import Hold, HoldReason, Observation
from health.model.references import IncidentReference, TargetReference
from health.policy.maintenance_windows import MaintenanceWindow, open_windows
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from health.runbook.wake_up import needs_wake_up
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NoEarlierAttempts, check_object, without_limits

NAMES = ["node-2", "node-0", "node-1"]
"""In the order of their failures."""


class NotedCalls(IncidentCalls):
    """Records the calls instead of calling Temporal; nothing is open at the start."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str | None]] = []

    async def start(self, incident: IncidentReference, observation: Observation, *_: object) -> None:
        hold = observation.hold
        self.started.append((incident.target.name, hold.reason if hold else None))

    async def running(self) -> list[ListedIncident]:
        return []


class Detector:
    """The parts of a detector that handle a storm, on the real clock."""

    def __init__(self, cooldown: str) -> None:
        self.cluster = SmallCluster()
        self.storms = Storms(self.cluster.cluster_state, lambda _: True, self.now)
        self.calls = NotedCalls()
        self.dispatch = Dispatch(
            self.calls,
            self.cluster.cluster_state,
            self.observe,
            is_leader=lambda: True,
            now=self.now,
            problems=Problems(),
            answered=without_limits,
            earlier_attempts=NoEarlierAttempts(),
        )
        for handler in (self.storms.changed, self.dispatch.changed):
            self.cluster.cluster_state.event_handlers.add_change_handler(handler)
        self.fill(cooldown)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def observe(self, incident: IncidentReference) -> Observation:
        self.storms.advance(incident.check)
        hold = self.storms.hold(incident.check)
        return self.cluster.observe(incident.target.name, now=self.now(), storm=hold)

    def fill(self, cooldown: str) -> None:
        """Three nodes failed one after the other, and the cooldown of a storm begins now."""
        now = self.now().replace(microsecond=0)
        for minutes, name in enumerate(NAMES):
            self.cluster.node(name, ready="Unknown", since=now - timedelta(minutes=20 - minutes))
        storm = Storm(is_active=True, turned=now, is_cooling=True, cooldown_turned=now)
        conditions = [{"type": "Ready", "status": "Unknown", "duration": "5m"}]
        spec: dict[str, Any] = {"minHealthy": 0, "unhealthyConditions": conditions}
        body = check_object(**spec, stormCooldownDuration=cooldown)
        body["status"] = {"conditions": storm_conditions(storm)}
        self.cluster.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))


@pytest.fixture
async def detector() -> AsyncIterator[Detector]:
    """A leading detector that has started the incidents of the nodes."""
    made = Detector("1s")
    tasks = [asyncio.create_task(part.lead()) for part in (made.storms, made.dispatch)]
    await eventually(lambda: len(made.calls.started) == len(NAMES))
    yield made
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.rule("NHC 2.3/6", "rule 6")
async def test_incidents_that_a_storm_held_are_woken_once_when_it_ends(detector: Detector) -> None:
    assert sorted(detector.calls.started) == sorted((name, HoldReason.STORM) for name in NAMES)
    detector.calls.started.clear()

    await eventually(lambda: len(detector.calls.started) == len(NAMES))
    assert sorted(name for name, _ in detector.calls.started) == sorted(NAMES)
    assert {hold for _, hold in detector.calls.started} == {None}
    await asyncio.sleep(0)
    assert len(detector.calls.started) == len(NAMES)


SECOND = timedelta(seconds=1)
NODE = TargetReference(kind="Node", name="node-1", uid="uid-node-1")
NIGHTS = MaintenanceWindow.model_validate(
    {"name": "nights", "schedule": "0 22 * * *", "duration": "1h", "remediation": "Allowed"}
)
OPENS, CLOSES = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (22, 23))
LIMIT = Hold(reason=HoldReason.LIMIT, message="1 remediation is under way")


class World:
    """A cluster with one window, and a Node that failed long ago."""

    def __init__(self, now: datetime) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(minHealthy=0)
        self.cluster.node("node-1", ready="Unknown", since=OPENS - timedelta(hours=5))
        self.told: list[str] = []
        self.cluster.cluster_state.event_handlers.add_change_handler(
            lambda _, target: self.told.append(target) if target else None
        )
        self.look(now)

    def look(self, now: datetime) -> None:
        """Poll, as the sources do each second."""
        self.cluster.now = now
        self.told.clear()
        policy = Policy(maintenance_windows=(NIGHTS,))
        self.cluster.cluster_state.take_context(
            ClusterContext(policy=PolicyInForce(policy=policy), open_windows=open_windows([NIGHTS], now))
        )

    def observe(self) -> Observation:
        return self.cluster.observe("node-1")


@pytest.mark.rule("rule 43")
def test_window_that_opens_wakes_the_targets_that_it_held() -> None:
    world = World(OPENS - SECOND)
    held = world.observe()
    assert held.hold is not None
    assert (held.hold.reason, held.hold.ask_again_seconds) == (HoldReason.MAINTENANCE_WINDOW, 1)

    world.look(OPENS)
    assert world.told == ["node-1"]
    assert world.observe().may_be_admitted
    assert needs_wake_up(held, world.observe())


@pytest.mark.rule("rule 43")
def test_window_that_closes_wakes_targets_that_wait_for_something_else() -> None:
    world = World(CLOSES - SECOND)
    waits = world.observe().model_copy(update={"hold": LIMIT})
    world.look(CLOSES - SECOND / 2)
    assert world.told == [], "no window opened or closed"

    world.look(CLOSES)
    assert world.told == ["node-1"]
    assert needs_wake_up(waits, world.observe())
