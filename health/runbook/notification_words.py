"""The words of a notification: its title, what the incident waits for, and the commands to type. Pure."""

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from health.model.approval import ApprovalAnswer
from health.model.moves import Wait
from health.model.notification import NotificationEvent
from health.model.references import IncidentReference
from health.runbook.decision import NextEvent
from health.runbook.incident import Incident
from objects.timestamps import stamp

HOLD_ENDS = "when the hold ends, or by an order"


def title(reference: IncidentReference, incident: Incident, event: NotificationEvent) -> str:
    """One sentence that begins with the target."""
    return f"{reference.target} {_TITLES[event](incident)}"


def waits_for(wait: Wait) -> tuple[str, datetime | None]:
    """The event that moves the incident on, and when; no reader needs its next question to the detector."""
    transition = wait.next_transition
    if transition.what == NextEvent.ASKS_AGAIN:
        return HOLD_ENDS, None
    return transition.what, transition.at


def commands(reference: IncidentReference, incident: Incident, event: NotificationEvent) -> tuple[str, ...]:
    """The command lines that help now, the most likely first; the last one shows the incident."""
    name = shlex.quote(f"{reference.check.name}/{reference.target.name}")
    of = f"{name} --cluster {shlex.quote(reference.cluster)}"
    orders = (f"paramedic {order} {of}{_step(incident, event)}" for order in _ORDERS.get(event, ()))
    return (*orders, f"paramedic show {of}")


def _step(incident: Incident, event: NotificationEvent) -> str:
    asked = incident.memory.approval
    is_named = event is NotificationEvent.APPROVAL_REQUIRED and asked is not None
    return f" --step {shlex.quote(asked.name)}" if asked is not None and is_named else ""


_ORDERS: Mapping[NotificationEvent, tuple[str, ...]] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: ("approve", "reject"),
        NotificationEvent.STEP_REJECTED: ("resume",),
        NotificationEvent.EXHAUSTED: ("resume", "abort"),
        NotificationEvent.LEFT_ALONE: ("resume",),
    }
)


def _asks(incident: Incident) -> str:
    asked = incident.memory.approval
    step = asked.name if asked else "its next step"
    if asked is not None and asked.is_expired:
        return f"still waits for the approval of {step}, and the time for the answer is over"
    return f"waits for the approval of {step}"


def _rejected(incident: Incident) -> str:
    asked = incident.memory.approval
    is_answered = asked is not None and asked.answer is ApprovalAnswer.REJECTED
    return f"does not get {asked.name}, which was rejected" if asked and is_answered else "gets no step"


def _held(incident: Incident) -> str:
    since = incident.memory.notifications.held_since
    return f"is held since {stamp(since)}" if since else "is held"


def _step_taken(incident: Incident) -> str:
    requests = incident.observation.requests
    step = incident.plan.step_of(incident.plan.latest(requests).reference) if requests else None
    if step is None:
        return "is being remediated"
    number, of = incident.plan.steps.index(step) + 1, len(incident.plan.steps)
    return f"is being remediated by {step.template.kind}/{step.template.name}, step {number} of {of}"


def _left_alone(incident: Incident) -> str:
    order = incident.memory.left_alone
    by = f" by {order.identity}" if order and order.identity else ""
    return f"is left alone after an abort{by}"


def _always(words: str) -> Callable[[Incident], str]:
    return lambda _: words


_TITLES: Mapping[NotificationEvent, Callable[[Incident], str]] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: _asks,
        NotificationEvent.STEP_REJECTED: _rejected,
        NotificationEvent.HELD: _held,
        NotificationEvent.EXHAUSTED: _always("is still unhealthy after every step"),
        NotificationEvent.STEP_TAKEN: _step_taken,
        NotificationEvent.LEFT_ALONE: _left_alone,
        NotificationEvent.RECOVERED: _always("recovered before anything was done"),
        NotificationEvent.REMEDIATED: _always("was remediated"),
        NotificationEvent.RELEASED: _always("no longer belongs to its check"),
        NotificationEvent.GONE: _always("is gone"),
        NotificationEvent.WOULD_HAVE_REMEDIATED: _always("would have been remediated, without shadow"),
    }
)
