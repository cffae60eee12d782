"""An escalation: each step has its timeout, then the next one begins, until none is left.

`resume` deletes all requests and begins anew; an overdue remediation releases the Lease of its target.
"""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import TIMED_OUT
from health.runbook.orders import ResumeOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import adopt_exhausted, fail_steps, take_first_step
from tests.support.story.polling import polled
from tests.support.story.settling import REAL_TIME, ROUNDING, pass_until, rests, settle
from tests.support.values.observations import expired, healthy

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


FROM_THE_SECOND = ResumeOrder(reason="power is back", step="second")


def changes(incident: IncidentDriver) -> list[tuple[str, str]]:
    """The created and deleted requests, by template, in order."""
    log = incident.cluster.log
    return [(entry.event, entry.template) for entry in log if entry.event in ("created", "deleted")]


@pytest.mark.rule("rule 40/exhausted")
async def test_exhausted_escalation_is_cleaned_up_to_the_last_finalizer_and_begins_with_the_first_step(
    incident: IncidentDriver,
) -> None:
    await adopt_exhausted(incident)
    incident.cluster.has_finalizer = True
    assert "Node/node-1" in await incident.resume()
    await rests(incident, Phase.CLEANING_UP)
    await incident.pass_time(timedelta(minutes=2))
    await rests(incident, Phase.CLEANING_UP)
    assert changes(incident) == []
    incident.cluster.remove_finalizer()
    await incident.wake()
    state = await rests(incident, Phase.REMEDIATING)
    assert changes(incident) == [
        ("deleted", "first"),
        ("deleted", "second"),
        ("deleted", "third"),
        ("created", "first"),
    ]
    assert [request.reference.template for request in state.requests] == ["first"]

    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    assert incident.cluster.tried == ["first", "second"]


@pytest.mark.rule("rule 40/exhausted")
async def test_resume_with_a_step_begins_there_and_one_that_is_unknown_is_refused_with_those_that_are_known(
    incident: IncidentDriver,
) -> None:
    await adopt_exhausted(incident)
    before = await incident.state()
    assert await incident.refusal("resume", ResumeOrder(step="fourth")) == (
        "'fourth' is the template of no step; the templates are "
        "RebootTemplate/first, RebootTemplate/second, RebootTemplate/third"
    )
    await settle(incident)
    assert await incident.state() == before
    assert incident.cluster.count("deleted") == 0

    await incident.resume(FROM_THE_SECOND)
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await fail_steps(incident, "second", "third")
    await rests(incident, Phase.EXHAUSTED)
    assert incident.cluster.tried == ["second", "third"]


@pytest.mark.rule("NHC 2.5/overdue", "NHC 2.5/release", "NHC 1.7/nhc-timed-out")
async def test_look_that_comes_while_the_lease_is_given_back_does_not_claim_it_again(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["clean_up"]
    incident.cluster.put_request(datetime.now(UTC) - timedelta(minutes=40))
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.wake()
    gate.open()
    await rests(incident, Phase.EXHAUSTED)
    renewals = incident.cluster.count("renew")
    await incident.pass_time(timedelta(hours=10))
    assert not (await rests(incident, Phase.EXHAUSTED)).memory.lease.may_be_held
    assert incident.cluster.count("renew") == renewals
    assert incident.cluster.count("clean_up") == 1
    assert not incident.cluster.is_leased
    assert [list(annotations) for _, annotations in incident.cluster.annotated] == [[TIMED_OUT]]
    assert len(incident.cluster.requests) == 1

    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("deleted") == 1
