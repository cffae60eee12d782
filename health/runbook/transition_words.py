"""The next transition of an incident in words: the event that ends a wait, and the following step. Pure."""

from datetime import datetime

from health.model.moves import Until
from health.model.references import Action, Step
from health.runbook.decision import Moment, NextEvent
from health.runbook.incident import Incident
from objects.durations import JUST_AFTER


def transition(moment: Moment, incident: Incident) -> Until:
    """The time of a wait with its event in words."""
    words = "" if moment.event is None else _happening(moment.event, moment.at, incident)
    return Until(moment.at, words, is_passed=moment.is_passed, is_renewal=moment.is_renewal)


def _happening(event: NextEvent, at: datetime, incident: Incident) -> str:
    """The event, with the step that follows it."""
    match event:
        case NextEvent.STEP_TIMES_OUT:
            return f"{_running_step(incident)} times out{_after_timeout(at, incident)}"
        case NextEvent.DELAY_ENDS | NextEvent.RECOVERY_IS_PROVEN if incident.kept_requests:
            return f"{event}, and the requests are deleted"
        case NextEvent.DEADLINE_PASSES if incident.course.running is None:
            return f"{event}{_followed(incident.step_at(at))}"
        case NextEvent.APPROVAL_EXPIRES:
            return f"{event}{_default_words(incident)}"
        case NextEvent.STOP_IS_GIVEN_UP:
            return f"{event}{_followed(incident.step_at(incident.now))}"
    return event


def _default_words(incident: Incident) -> str:
    approval = incident.memory.approval
    follows = approval.default_words if approval else ""
    return f", and {follows}" if follows else ""


def _running_step(incident: Incident) -> str:
    running = incident.course.running
    step = running and incident.plan.step_of(running.reference)
    return f"the step {_named(step)}" if step else "its step"


def _after_timeout(at: datetime, incident: Incident) -> str:
    step = incident.step_at(at + JUST_AFTER)
    if step is None:
        return ", and no template is left to try"
    return f"{_followed(step)}{' once the hold ends' if incident.memory.held else ''}"


def _followed(step: Step | None) -> str:
    """The next step, as the end of a sentence."""
    return f", and {_named(step)} is next" if step else ""


def _named(step: Step) -> str:
    """A step in words: people know it by its template."""
    if step.action is Action.REQUEST:
        return f"{step.template.kind}/{step.template.name}"
    return "its deletion" if step.action is Action.DELETE else "a mark for another controller"
