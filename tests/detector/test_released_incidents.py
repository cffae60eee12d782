"""The incident of a target that is healthy by now is woken when its check no longer selects the target."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from detector.dispatching.dispatch import Dispatch
from detector.dispatching.incident_calls import IncidentCalls
from health.check.annotated_hold import PAUSED
from health.model.observation import Observation
from health.model.references import IncidentReference
from runtime.listed_incidents import ListedIncident
from runtime.problems import Problems
from tests.support.api.eventually import eventually
from tests.support.state.small_machines import CHECK, SmallMachines
from tests.support.values.builders import NOW, NoEarlierAttempts, without_limits

UNREADABLE = {"matchLabels": {"bad key": ""}}
ANOTHER_POOL = {"matchLabels": {"pool": "another"}}


class NotedCalls(IncidentCalls):
    """Counts the calls instead of calling Temporal."""

    def __init__(self) -> None:
        self.started = self.woken = 0

    async def start(self, _: IncidentReference, *_more: object) -> None:
        self.started += 1

    async def wake(self, incident: IncidentReference) -> None:  # noqa: ARG002  as above
        self.woken += 1

    async def running(self) -> list[ListedIncident]:
        return []


class Detector:
    """A dispatch over one Machine and its check."""

    def __init__(self) -> None:
        self.machines = SmallMachines()
        self.machines.check()
        self.machines.unhealthy("a")
        self.looks = Counter[str]()
        self.calls = NotedCalls()
        self.dispatch = Dispatch(
            self.calls,
            self.machines.cluster_state,
            self.observe,
            is_leader=lambda: True,
            now=lambda: self.machines.now,
            problems=Problems(),
            answered=without_limits,
            earlier_attempts=NoEarlierAttempts(),
        )
        self.machines.cluster_state.event_handlers.add_change_handler(self.dispatch.changed)

    def observe(self, incident: IncidentReference) -> Observation:
        self.looks[incident.target.name] += 1
        return self.machines.observe(incident.target.name)

    async def recover(self) -> None:
        """Let the Node recover, and wait until the incident is compared with that."""
        before = self.looks["a"]
        self.machines.node("a")
        await eventually(lambda: self.looks["a"] > before)

    async def until_woken(self, times: int) -> None:
        await eventually(lambda: self.calls.woken == times)


@pytest.fixture
async def detector() -> AsyncIterator[Detector]:
    """A leading detector that has started the incident of the Machine."""
    made = Detector()
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.started == 1)
    yield made
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


@pytest.mark.rule("rule 10")
async def test_incident_is_woken_when_its_check_is_deleted_after_a_recovery_during_a_pause(
    detector: Detector,
) -> None:
    detector.machines.check(annotations={PAUSED: ""})
    await detector.until_woken(1)
    await detector.recover()
    detector.machines.delete_check()
    await detector.until_woken(2)


@pytest.mark.rule("rule 10")
async def test_incident_is_woken_when_its_check_is_deleted_while_it_cannot_be_read(
    detector: Detector,
) -> None:
    detector.machines.check(selector=UNREADABLE)
    await detector.until_woken(1)
    detector.machines.delete_check()
    await detector.until_woken(2)


@pytest.mark.rule("rule 10")
async def test_incident_of_a_machine_that_is_being_deleted_is_woken_when_it_leaves_the_selector(
    detector: Detector,
) -> None:
    detector.machines.machine("a", node="a", deleted=NOW)
    await detector.recover()
    await detector.until_woken(1)
    detector.machines.check(selector=ANOTHER_POOL)
    await detector.until_woken(2)


async def test_later_changes_of_a_deleted_check_look_at_no_other_incident_of_it(detector: Detector) -> None:
    detector.machines.unhealthy("b")
    await eventually(lambda: detector.calls.started == 2)
    detector.machines.delete_check()
    await detector.until_woken(2)
    before = detector.looks.copy()
    # In one step of the loop, as when the request for "b" is gone; the comparisons are first in, first out.
    for target in (None, "b"):
        detector.dispatch.changed(CHECK, target)
    await eventually(lambda: detector.looks["b"] > before["b"])
    assert detector.looks["a"] == before["a"]
