"""healthyDelay: the requests of a recovered node are kept for a time."""

from datetime import datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import HEALTHY_DELAY
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import REAL_TIME, ROUNDING, pass_until, rests
from tests.support.values.observations import recovered

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
