"""Deadlines to the second: of a condition, of healthyDelay, and of the proof of a recovery."""

from datetime import datetime, timedelta

import pytest

from health.check.same_boot import SAME_BOOT
from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.model.remediation_request import HEALTHY_DELAY
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import REAL_TIME, ROUNDING, pass_until, rests
from tests.support.values.builders import NOW, fact
from tests.support.values.observations import (
    ESCALATION,
    FIVE_MINUTES,
    escalating,
    expired,
    healthy,
    recovered,
    waiting,
)

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)
FOR_GOOD = timedelta(seconds=-1)


async def recover(incident: IncidentDriver, delay: timedelta) -> datetime:
    """The node recovers and the delay begins; return its begin, as in the annotation of the request."""
    await incident.sees(recovered(delay))
    await rests(incident, Phase.HEALTHY_DELAY)
    (request,) = incident.cluster.requests.values()
    return request.healthy_since or await incident.now()


def stamps(incident: IncidentDriver) -> list[str | None]:
    written = [annotations for _, annotations in incident.cluster.annotated]
    return [annotations[HEALTHY_DELAY] for annotations in written if HEALTHY_DELAY in annotations]


@pytest.mark.rule("NHC 2.6/positive", "NHC 1.7/healthy-delay", "NHC 2.7/restart")
async def test_request_is_stamped_and_kept_to_the_second_for_the_delay_over_a_restart_of_the_worker(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await act(incident)
            before = await incident.now()
            since = await recover(incident, 5 * MINUTE)
            assert stamps(incident) == [since.strftime("%Y-%m-%dT%H:%M:%SZ")]
            assert before - ROUNDING < since <= await incident.now()
        await incident.pass_time(4 * MINUTE)
        async with incident.worker():
            await pass_until(incident, since + 5 * MINUTE - REAL_TIME)
            assert incident.cluster.count("clean_up") == 0
            await pass_until(incident, since + 5 * MINUTE + A_BIT)
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.times("clean_up")[0] >= since + 5 * MINUTE
    assert len(stamps(incident)) == 1


@pytest.mark.rule("NHC 2.6/confirmed", "NHC 2.7/finalizer")
async def test_mark_of_a_person_stays_until_the_last_request_is_gone(incident: IncidentDriver) -> None:
    await act(incident)
    incident.cluster.has_finalizer = True
    await incident.sees(recovered(FOR_GOOD, is_confirmed=True))
    await rests(incident, Phase.CLEANING_UP)
    assert incident.cluster.is_leased
    incident.cluster.remove_finalizer()
    await incident.wake()
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.clean_ups[-1].is_confirmed


TIME = 5 * MINUTE
OLD, NEW = "boot-1", "boot-2"


def asks_for_a_proof(observation: Observation, boot_id: str) -> Observation:
    """An observation of an escalation whose check requires proof, for a node with that boot ID."""
    says = {"proven_recovery_seconds": TIME.total_seconds(), "boot_id": boot_id, "steps": ESCALATION}
    return observation.model_copy(update=says)


def well(boot_id: str) -> Observation:
    told = asks_for_a_proof(healthy(), boot_id)
    says = {"subject": "Node/node-1", "reason": "healthy", "fact": fact(NOW, boot_id, SAME_BOOT)}
    return told.model_copy(update=says)


async def test_node_that_did_not_boot_gets_its_next_step_and_one_that_did_is_kept_for_the_time_over_a_restart(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(asks_for_a_proof(escalating(), OLD))
            await rests(incident, Phase.REMEDIATING)
            await incident.sees(well(OLD))
            state = await rests(incident, Phase.REMEDIATING)
            assert "but its boot ID boot-1 is the same as before the step" in state.details
            first = incident.cluster.request_of("first")
            await pass_until(incident, first.created + TIME + A_BIT)
            await incident.happens("created", 2)
            assert incident.cluster.acts[-1].fact.condition == SAME_BOOT

            await incident.sees(well(NEW))
            state = await rests(incident, Phase.HEALTHY_DELAY)
            assert "healthy with a new boot ID since" in state.details
            since = state.memory.recovery.healthy_since
            assert since is not None
        await incident.pass_time(MINUTE / 2)
        async with incident.worker():
            await pass_until(incident, since + TIME - REAL_TIME)
            assert incident.cluster.count("clean_up") == 0
            await pass_until(incident, since + TIME + A_BIT)
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.times("clean_up")[0] >= since + TIME
    assert incident.cluster.tried == ["first", "second"]
    assert not incident.cluster.requests


@pytest.mark.rule("NHC 2.0/deadline", "rule 1")
async def test_node_is_left_alone_until_its_deadline_and_then_acted_on_once(incident: IncidentDriver) -> None:
    await incident.start(waiting())
    await incident.pass_time(FIVE_MINUTES - REAL_TIME)
    assert (await incident.state()).phase is Phase.WAITING
    assert incident.cluster.log[1:] == []

    incident.cluster.observation = expired()
    await incident.pass_time(REAL_TIME + A_BIT)
    await incident.reaches(Phase.REMEDIATING)
    assert incident.cluster.count("act") == 1
    assert incident.cluster.times("act")[0] - incident.cluster.times("answered")[0] >= FIVE_MINUTES
