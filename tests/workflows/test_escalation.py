"""An escalation: each step has its timeout, then the next one begins, until none is left."""

from datetime import datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import TIMED_OUT
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import take_first_step
from tests.support.story.polling import polled
from tests.support.story.settling import REAL_TIME, ROUNDING, pass_until, rests, settle
from tests.support.values.observations import healthy

TIMEOUTS = {
    "first": timedelta(seconds=300),
    "second": timedelta(seconds=120),
    "third": timedelta(seconds=600),
}


def timeout_of(incident: IncidentDriver, template: str) -> datetime:
    return incident.cluster.request_of(template).created + TIMEOUTS[template]


async def sleeps_until(incident: IncidentDriver, time: datetime) -> None:
    """Wait until its next wake-up is at that time, to the second."""

    async def is_set() -> bool:
        wakes_at = (await incident.state()).wakes_at
        return wakes_at is not None and time <= wakes_at < time + ROUNDING

    await polled(is_set)


def timed_out(incident: IncidentDriver) -> list[str]:
    """The templates of the requests that were marked as timed out."""
    return [template for template, annotations in incident.cluster.annotated if TIMED_OUT in annotations]


@pytest.mark.rule(
    "NHC 2.4/6/timeout",
    "NHC 2.4/2",
    "NHC 2.4/2/none left",
    "NHC 2.4/6/kept",
    "NHC 1.7/nhc-timed-out",
    "rule 18",
    "rule 40/exhausted",
)
async def test_each_step_times_out_to_the_second_and_when_none_is_left_all_requests_are_kept_until_recovery(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    for number, template in enumerate(("first", "second", "third")):
        ends = timeout_of(incident, template)
        await pass_until(incident, ends - REAL_TIME)
        assert incident.cluster.count("annotate") == number
        await sleeps_until(incident, ends)

        await pass_until(incident, ends + timedelta(seconds=0.5))
        await incident.happens("annotate", number + 1)
        stamped = incident.cluster.request_of(template).timed_out_at
        assert stamped is not None
        assert stamped > ends - ROUNDING
        await settle(incident)

    await rests(incident, Phase.EXHAUSTED)
    renewals = incident.cluster.count("renew")
    await incident.pass_time(timedelta(hours=10))
    state = await rests(incident, Phase.EXHAUSTED)
    assert "no template left to try" in state.details
    assert incident.cluster.count("renew") == renewals
    assert incident.cluster.tried == timed_out(incident) == ["first", "second", "third"]
    assert len(incident.cluster.requests) == 3
    assert incident.cluster.count("act") == 3

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 3
