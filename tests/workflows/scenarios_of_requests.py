"""Scenarios of requests that are kept, annotated, lost, overdue or old."""

from datetime import UTC, datetime, timedelta

from health.model.moves import Phase
from health.model.observation import HoldReason
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import pass_until, rests
from tests.support.values.observations import STEP, expired, gone, hold, recovered
from tests.workflows.stories import MINUTE, begin, recover

FOR_GOOD = timedelta(seconds=-1)
LIMITED = expired().model_copy(update={"back_off_limit_seconds": 1800})


async def kept_for_the_healthy_delay(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(recovered(5 * MINUTE))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.pass_time(5 * MINUTE + MINUTE / 10)
    await incident.outcome()


async def failed_again_during_the_healthy_delay(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(recovered(5 * MINUTE))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.sees(expired())
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(recovered(5 * MINUTE))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.pass_time(5 * MINUTE + MINUTE / 10)
    await incident.outcome()


async def healthy_delay_edited(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(recovered(20 * MINUTE))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.sees(recovered(5 * MINUTE))
    await incident.tells("healthyDelay of 5m")
    await incident.pass_time(5 * MINUTE + MINUTE / 10)
    await incident.outcome()


async def kept_until_a_person_confirms(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(recovered(FOR_GOOD))
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.pass_time(11 * MINUTE)
    await incident.happens("renew")
    await rests(incident, Phase.HEALTHY_DELAY)
    await incident.sees(recovered(FOR_GOOD, is_confirmed=True))
    await incident.outcome()


async def request_lost(incident: IncidentDriver) -> None:
    incident.cluster.observation = LIMITED
    await incident.start()
    await rests(incident, Phase.REMEDIATING)
    await incident.cluster.lose_requests()
    await incident.wake()
    await rests(incident, Phase.HELD)
    await incident.pass_time(MINUTE + MINUTE / 10)
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_lost_and_resumed(incident: IncidentDriver) -> None:
    incident.cluster.observation = LIMITED
    await incident.start()
    await rests(incident, Phase.REMEDIATING)
    await incident.cluster.lose_requests()
    await incident.wake()
    await rests(incident, Phase.HELD)
    await incident.resume()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def attempt_in_a_row(incident: IncidentDriver) -> None:
    third = LIMITED.model_copy(update={"earlier_attempts": 2})
    await incident.start(third.model_copy(update={"hold": hold(HoldReason.BACK_OFF, 2 * MINUTE)}))
    await rests(incident, Phase.HELD)
    incident.cluster.observation = third
    await incident.pass_time(2 * MINUTE + MINUTE / 10)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def overdue(incident: IncidentDriver) -> None:
    await begin(incident, act)
    for times in (1, 2):
        await incident.pass_time(10 * MINUTE + MINUTE / 10)
        await incident.happens("renew", times)
        await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(10 * MINUTE)
    await incident.happens("clean_up")
    await rests(incident, Phase.EXHAUSTED)
    await recover(incident)


async def overdue_and_resumed(incident: IncidentDriver) -> None:
    incident.cluster.put_request(datetime.now(UTC) - 40 * MINUTE)
    await incident.start(expired())
    await rests(incident, Phase.EXHAUSTED)
    await incident.resume()
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_grew_old(incident: IncidentDriver) -> None:
    created = datetime.now(UTC) - timedelta(hours=47)
    incident.cluster.put_request(created)
    await incident.start(expired())
    await rests(incident, Phase.EXHAUSTED)
    before = incident.cluster.count("annotate")
    await pass_until(incident, created + timedelta(hours=48) + MINUTE / 10)
    await incident.happens("annotate", before + 1)
    await rests(incident, Phase.EXHAUSTED)
    await recover(incident)


async def end_of_the_node_expected(incident: IncidentDriver) -> None:
    await begin(incident, act)
    incident.cluster.report(STEP.template.name, is_node_deletion_expected=True)
    await incident.sees(gone())
    await incident.tells("its remediator expects that")
    await rests(incident, Phase.REMEDIATING)
    incident.cluster.report(STEP.template.name, succeeded=True)
    await incident.wake()
    await incident.outcome()


async def clean_up_told_to_wait(incident: IncidentDriver) -> None:
    await begin(incident, act)
    incident.cluster.failing["clean_up"], incident.cluster.retry_after = 2, MINUTE / 60
    await recover(incident)
