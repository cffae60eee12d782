"""A request that appears long after the act of its incident wakes the incident, or starts another one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest

from health.model.admission import Intent
from tests.detector.test_ended_incidents import Detector
from tests.support.api.eventually import eventually
from tests.support.state.small_cluster import incident_of

pytestmark = pytest.mark.rule("rule 41/late")

NODE, ANOTHER = "node-1", "node-2"


@pytest.fixture
async def detector() -> AsyncIterator[Detector]:
    """A leading detector that has started the incident of a node with an admission."""
    made = Detector()
    made.cluster.check(minHealthy=0)
    made.fail(NODE)
    leading = asyncio.create_task(made.dispatch.lead())
    await eventually(lambda: made.calls.names == [NODE])
    yield made
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading


def is_reported(detector: Detector, *, would_act: bool = True) -> None:
    """Let the incident of the node ask, and return the answer."""
    observation = detector.observe(incident_of(NODE))
    detector.dispatch.answer(incident_of(NODE), observation, observation, Intent(would_act=would_act))


async def woken(detector: Detector) -> list[str]:
    """The incidents that were started or woken, by name; a node that fails now ends the wait."""
    detector.fail(ANOTHER)
    await eventually(lambda: ANOTHER in detector.calls.names)
    return sorted(detector.calls.names[1:])


async def test_request_that_an_incident_makes_on_its_admission_wakes_no_incident(detector: Detector) -> None:
    detector.cluster.request(NODE)
    assert await woken(detector) == [ANOTHER]


async def test_request_that_appears_after_the_time_of_an_act_wakes_its_incident(
    detector: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("detector.dispatching.dispatch.ACTED_ON_WITHIN", timedelta())
    detector.cluster.request(NODE)
    await eventually(lambda: detector.calls.names == [NODE, NODE])
    detector.cluster.request(NODE)
    assert detector.calls.names.count(NODE) == 2


async def test_request_of_an_incident_that_is_left_alone_wakes_it_at_once(detector: Detector) -> None:
    is_reported(detector, would_act=False)
    detector.cluster.request(NODE)
    await eventually(lambda: detector.calls.names == [NODE, NODE])


async def test_request_that_appears_after_the_end_of_its_incident_gets_another_at_once(
    detector: Detector,
) -> None:
    detector.cluster.node(NODE)
    await eventually(lambda: detector.calls.looked == 1)
    is_reported(detector)
    detector.calls.has_ended = True

    detector.cluster.request(NODE)
    await eventually(lambda: detector.calls.names == [NODE, NODE])
    assert detector.calls.looked == 2
