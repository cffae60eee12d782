"""Scenarios of escalations: one step after the other, no step left, a new start."""

from health.model.moves import Phase
from health.model.observation import HoldReason
from health.runbook.orders import HoldOrder, ResumeOrder, SkipOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import exhaust, fail_steps, take_first_step
from tests.support.story.settling import pass_until, rests
from tests.support.values.observations import escalating, expired, healthy, held, hold, waiting
from tests.workflows.stories import MINUTE, begin, recover


async def let_first_step_time_out(incident: IncidentDriver) -> None:
    await pass_until(incident, incident.cluster.request_of("first").created + 5 * MINUTE + MINUTE / 10)
    await incident.happens("annotate")


async def escalated_by_a_timeout(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await let_first_step_time_out(incident)
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def escalated_by_a_failure(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def next_step_held_then_admitted(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await incident.sees(escalating(held()))
    await rests(incident, Phase.REMEDIATING)
    await let_first_step_time_out(incident)
    await rests(incident, Phase.HELD)
    await incident.sees(escalating())
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def next_step_held_by_a_person(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)
    await incident.resume()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def next_step_refused_then_done(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    incident.cluster.refusals.append(hold(HoldReason.TEMPLATE))
    await fail_steps(incident, "first")
    await rests(incident, Phase.HELD)
    await incident.wake()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def step_kept_while_only_a_timer_runs(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await incident.sees(escalating(waiting(60 * MINUTE)))
    await rests(incident, Phase.REMEDIATING)
    await pass_until(incident, incident.cluster.request_of("first").created + 6 * MINUTE)
    await incident.happens("renew")
    await rests(incident, Phase.WAITING)
    await incident.sees(escalating(expired()))
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def exhausted_until_recovery(incident: IncidentDriver) -> None:
    await begin(incident, exhaust)
    await recover(incident)


async def exhausted_and_resumed(incident: IncidentDriver) -> None:
    await begin(incident, exhaust)
    await incident.resume()
    await incident.happens("created", 4)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def resumed_from_a_named_step(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await incident.resume(ResumeOrder(reason="power is back", step="third"))
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await fail_steps(incident, "third")
    await rests(incident, Phase.EXHAUSTED)
    await recover(incident)


async def skipped_by_a_person(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await incident.skip(SkipOrder(step="first", reason="it cannot boot"))
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await incident.handle.signal("skip", SkipOrder(step="first"))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def step_overdue_while_held(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    began = incident.cluster.request_of("first").created
    await incident.sees(escalating(held()))
    await rests(incident, Phase.REMEDIATING)
    for minutes in (6, 11):
        await pass_until(incident, began + minutes * MINUTE)
    await pass_until(incident, began + 15 * MINUTE + MINUTE / 10)
    await incident.happens("clean_up")
    await rests(incident, Phase.HELD)
    await incident.sees(escalating())
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    await incident.outcome()


async def continued_as_new_in_the_second_step(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await fail_steps(incident, "first")
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await incident.wake_until_continued()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


SCENARIOS = (
    escalated_by_a_timeout,
    escalated_by_a_failure,
    next_step_held_then_admitted,
    next_step_held_by_a_person,
    next_step_refused_then_done,
    step_kept_while_only_a_timer_runs,
    exhausted_until_recovery,
    exhausted_and_resumed,
    resumed_from_a_named_step,
    step_overdue_while_held,
    skipped_by_a_person,
)
