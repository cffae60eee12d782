"""healthyDelay: the requests of a node that is healthy again are kept for a time."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.moves import Outcome, Phase
from health.model.remediation_request import HEALTHY_DELAY
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import escalating, recovered
from tests.workflows.phases import act, take_first_step, wait
from tests.workflows.settling import pass_until, rests

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)
FOR_GOOD = timedelta(seconds=-1)


async def recover(incident: IncidentDriver, delay: timedelta) -> datetime:
    """The node is healthy again, and the delay begins; answers since when, as the request says."""
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
            since = await recover(incident, 5 * MINUTE)
            assert stamps(incident) == [since.strftime("%Y-%m-%dT%H:%M:%SZ")]
            assert abs(since - await incident.now()) < 3 * A_BIT
        await incident.pass_time(4 * MINUTE)
        async with incident.worker():
            await pass_until(incident, since + 5 * MINUTE - A_BIT)
            assert incident.cluster.count("clean_up") == 0
            await pass_until(incident, since + 5 * MINUTE + A_BIT)
            assert await incident.outcome() is Outcome.REMEDIATED
    assert len(stamps(incident)) == 1


@pytest.mark.rule("rule 19", "rule 1")
async def test_node_that_fails_again_loses_its_stamp_while_its_step_goes_on_and_has_the_whole_delay_once_more(
    incident: IncidentDriver,
) -> None:
    await take_first_step(incident)
    began = incident.cluster.request_of("first").created
    first = await recover(incident, 5 * MINUTE)
    await pass_until(incident, first + 4 * MINUTE)
    await incident.sees(escalating())
    await rests(incident, Phase.REMEDIATING)
    assert stamps(incident)[1:] == [None]
    assert incident.cluster.count("created") == 1

    second = await recover(incident, 5 * MINUTE)
    assert second - first >= 4 * MINUTE
    await pass_until(incident, second + 5 * MINUTE - A_BIT)
    assert incident.cluster.tried == ["first"]
    await incident.sees(escalating())
    await incident.happens("created", 2)
    assert incident.cluster.times("created")[1] - began > 5 * MINUTE


@pytest.mark.rule("NHC 2.6/edited", "rule 10/edit")
async def test_edited_delay_counts_from_the_same_recovery_and_ends_at_once_when_so_much_has_passed(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    since = await recover(incident, 5 * MINUTE)
    assert await recover(incident, 9 * MINUTE) == since
    await pass_until(incident, since + 6 * MINUTE)
    assert incident.cluster.count("clean_up") == 0
    await incident.sees(recovered(5 * MINUTE))
    assert await incident.outcome() is Outcome.REMEDIATED
    assert len(stamps(incident)) == 1


@pytest.mark.rule("NHC 2.6/negative", "NHC 2.6/confirmed", "NHC 1.7/manually-confirmed-healthy")
async def test_negative_delay_keeps_a_request_without_a_stamp_until_a_person_confirms(
    incident: IncidentDriver,
) -> None:
    await act(incident)
    await recover(incident, FOR_GOOD)
    for _ in range(2):
        await incident.pass_time(6 * MINUTE)
        await rests(incident, Phase.HEALTHY_DELAY)
    assert stamps(incident) == []
    assert incident.cluster.count("renew") == 2
    assert incident.cluster.count("clean_up") == 0

    await incident.sees(recovered(FOR_GOOD, is_confirmed=True))
    assert await incident.outcome() is Outcome.REMEDIATED
    assert [asked.is_confirmed for asked in incident.cluster.clean_ups] == [True]


@pytest.mark.rule("NHC 2.6/confirmed")
async def test_mark_of_a_person_is_taken_off_where_no_request_was_made(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.sees(recovered(FOR_GOOD, is_confirmed=True))
    assert await incident.outcome() is Outcome.RECOVERED
    assert [asked.is_confirmed for asked in incident.cluster.clean_ups] == [True]


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


@pytest.mark.rule("rule 39")
async def test_delay_that_another_began_ends_when_it_would_have(incident: IncidentDriver) -> None:
    since = datetime.now(UTC) - 3 * MINUTE
    request = incident.cluster.put_request(since - MINUTE)
    incident.cluster.report(request.reference.template, healthy_since=since)
    await incident.start(recovered(5 * MINUTE))
    await rests(incident, Phase.HEALTHY_DELAY)
    await pass_until(incident, since + 5 * MINUTE + A_BIT)
    assert await incident.outcome() is Outcome.REMEDIATED
    assert stamps(incident) == []
