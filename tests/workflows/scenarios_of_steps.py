"""Scenarios of steps: escalations, deleted and marked Machines, evidence before a step, and shadow."""

from datetime import timedelta

from health.model.evidence import EvidenceStore
from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from health.model.references import Action, Step
from health.runbook.orders import HoldOrder, ResumeOrder, SkipOrder
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, exhaust, fail_steps, take_first_step
from tests.support.story.settling import pass_until, rests
from tests.support.values.observations import escalating, expired, gone, healthy, held, hold, waiting
from tests.workflows.stories import MINUTE, begin, recover
from workflows.contracts import SAVE_EVIDENCE


async def _let_first_step_time_out(incident: IncidentDriver) -> None:
    await pass_until(incident, incident.cluster.request_of("first").created + 5 * MINUTE + MINUTE / 10)
    await incident.happens("annotate")


async def escalated_by_a_timeout(incident: IncidentDriver) -> None:
    await begin(incident, take_first_step)
    await _let_first_step_time_out(incident)
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
    await _let_first_step_time_out(incident)
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


DELETING = escalating(expired(), Step(action=Action.DELETE))
MARKING = escalating(expired(), Step(action=Action.MARK))
UNDER_WAY = "marked for external remediation"


def _marked(observation: Observation) -> Observation:
    return observation.model_copy(update={"under_way": UNDER_WAY, "is_marked": True})


async def machine_deleted(incident: IncidentDriver) -> None:
    await incident.start(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(gone())
    await incident.outcome()


async def deleted_machine_hangs_on_a_finalizer(incident: IncidentDriver) -> None:
    await incident.start(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(11 * MINUTE)
    await incident.happens("renew")
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(gone())
    await incident.outcome()


async def answer_of_a_deletion_lost(incident: IncidentDriver) -> None:
    incident.cluster.failing["act"] = 1
    await incident.start(DELETING)
    await rests(incident, Phase.HELD)
    await incident.sees(gone())
    await incident.outcome()


async def machine_marked(incident: IncidentDriver) -> None:
    await incident.start(MARKING)
    await incident.happens("Mark of the target")
    await incident.sees(_marked(MARKING))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def mark_taken_off_in_vain(incident: IncidentDriver) -> None:
    limited = MARKING.model_copy(update={"back_off_limit_seconds": 1800})
    await incident.start(limited)
    await incident.happens("Mark of the target")
    await incident.sees(_marked(limited))
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(limited)
    await rests(incident, Phase.HELD)
    await incident.pass_time(MINUTE + MINUTE / 10)
    await incident.happens("Mark of the target", 2)
    await incident.sees(_marked(limited))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_kept_until_its_machine_is_fit(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(healthy().model_copy(update={"counts_as_healthy": False}))
    await incident.tells("does not count as healthy yet")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


def wanted() -> Observation:
    """An observation under a check that wants evidence as ConfigMaps."""
    return escalating().model_copy(update={"evidence": EvidenceStore.CONFIG_MAP})


async def evidence_saved_once_for_two_steps(incident: IncidentDriver) -> None:
    await incident.start(wanted())
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(5 * MINUTE + MINUTE)
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def evidence_that_cannot_be_saved(incident: IncidentDriver) -> None:
    incident.cluster.failing[SAVE_EVIDENCE.name] = 99
    await incident.start(wanted())
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def evidence_held_and_saved_later(incident: IncidentDriver) -> None:
    incident.cluster.refusals.append(hold(HoldReason.NOT_TRUE, timedelta(seconds=2)))
    await incident.start(wanted())
    await rests(incident, Phase.HELD)
    await incident.pass_time(MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


def shadowed(observation: Observation) -> Observation:
    return observation.model_copy(update={"is_shadow": True})


async def _record_two_steps(incident: IncidentDriver) -> None:
    await incident.start(shadowed(escalating()))
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(6 * MINUTE)
    state = await rests(incident, Phase.REMEDIATING)
    assert [step.number for step in state.memory.shadow.steps] == [1, 2]


async def in_shadow_to_the_end(incident: IncidentDriver) -> None:
    await _record_two_steps(incident)
    incident.cluster.put_request()
    await incident.sees(shadowed(healthy()))
    await rests(incident, Phase.CLEANING_UP)
    await incident.cluster.lose_requests()
    await incident.wake()
    result = await incident.result()
    assert result.outcome is Outcome.WOULD_HAVE_REMEDIATED
    assert result.shadow is not None
    assert [other.ended is not None for other in result.shadow.others] == [True]


async def shadow_left_in_the_second_step(incident: IncidentDriver) -> None:
    await _record_two_steps(incident)
    await incident.sees(escalating().model_copy(update={"is_shadow": False}))
    await incident.happens("created")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)
