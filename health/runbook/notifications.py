"""Notifications: when an incident notifies the receivers of the policy, and of what. Pure.

An incident notifies before it rests and before it ends, so a notification delays no step. The first row that
matches is the event:

| the incident                                         | event              | once for each     |
|------------------------------------------------------|--------------------|-------------------|
| ends                                                 | its outcome        | incident          |
| is in shadow                                         | none               |                   |
| is left alone by an abort                            | `LeftAlone`        | abort             |
| has tried every step                                 | `Exhausted`        | latest step       |
| has a step in progress                               | `StepTaken`        | step              |
| waits for an approval                                | `ApprovalRequired` | question, and end |
| has a step that was rejected                         | `StepRejected`     | rejection         |
| is held by something else than people, for `heldFor` | `Held`             | hold              |

A hold goes on while its reason changes, and is over once a step is taken or the target recovers. Orders,
pauses, windows and upgrades hold because people want it, so these holds notify no receiver. A receiver that
was asked for a decision also gets the outcome, whatever its events.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from health.check.ordered import is_by_order
from health.model.approval import ApprovalAnswer
from health.model.moves import End, Moment, Phase, Wait
from health.model.notification import Notification, NotificationEvent, WantedEvents, notification_id
from health.model.observation import HoldReason
from health.model.references import IncidentReference
from health.runbook.incident import Incident
from health.runbook.state import Memory
from objects.timestamps import stamp

WANTED_BY_PEOPLE = frozenset(
    {
        HoldReason.EXCLUDED,
        HoldReason.HOLD_ANNOTATION,
        HoldReason.MAINTENANCE_WINDOW,
        HoldReason.NODE_MAINTENANCE,
        HoldReason.OWNER_AT_WORK,
        HoldReason.PAUSED,
        HoldReason.STOPPED,
        HoldReason.UPGRADING,
    }
)
"""Holds that people ordered, or expect."""


@dataclass(frozen=True)
class Occasion:
    """An event, and what tells it from the same event at another time."""

    event: NotificationEvent
    key: str


@dataclass(frozen=True)
class Due:
    """A notification that is due for one receiver."""

    receiver: str
    notification: Notification
    occasion: Occasion

    def remembered(self, memory: Memory) -> Memory:
        """The memory once it is on its way."""
        sent = memory.notifications.having_sent(self.receiver, self.occasion.event, self.occasion.key)
        return memory.model_copy(update={"notifications": sent})


def noted(incident: Incident, move: Wait | End) -> Memory:
    """The memory with the beginning or the end of a hold."""
    memory = incident.memory
    if not incident.observation.notifies:
        return memory
    held = memory.notifications.held(is_held=_is_held(incident, move), now=incident.now)
    return memory.model_copy(update={"notifications": held})


def due(
    reference: IncidentReference, incident: Incident, move: Wait | End, began: datetime
) -> tuple[Due, ...]:
    """The notifications that are due before this move; `began` is when the incident began."""
    occasion = _occasion(incident, move)
    receivers = () if occasion is None else tuple(_receivers(incident, occasion))
    if occasion is None or not receivers:
        return ()
    message = _notification(reference, incident, move, occasion, began)
    return tuple(Due(receiver, message, occasion) for receiver in receivers)


def held_long_at(incident: Incident) -> Moment | None:
    """When the next receiver is to be notified of the hold; None: there is none, or all of them know."""
    since = incident.memory.notifications.held_since
    if since is None:
        return None
    occasion = Occasion(NotificationEvent.HELD, stamp(since))
    left = (wanted for wanted in incident.observation.notifies if _is_news(wanted, incident.memory, occasion))
    at = min((since + timedelta(seconds=wanted.held_for_seconds) for wanted in left), default=None)
    return None if at is None or at <= incident.now else Moment(at)


def _receivers(incident: Incident, occasion: Occasion) -> Iterator[str]:
    since = incident.memory.notifications.held_since
    for wanted in incident.observation.notifies:
        held_for = timedelta(seconds=wanted.held_for_seconds)
        is_held_long = since is not None and incident.now - since >= held_for
        is_early = occasion.event is NotificationEvent.HELD and not is_held_long
        if _is_news(wanted, incident.memory, occasion) and not is_early:
            yield wanted.receiver


def _is_news(wanted: WantedEvents, memory: Memory, occasion: Occasion) -> bool:
    notified = memory.notifications
    is_end = occasion.event.is_end
    is_wanted = occasion.event in wanted.events or (is_end and notified.has_asked(wanted.receiver))
    return is_wanted and not notified.has_sent(wanted.receiver, occasion.event, occasion.key)


def _occasion(incident: Incident, move: Wait | End) -> Occasion | None:
    memory = incident.memory
    if isinstance(move, End):
        failed = memory.delays.fact
        return Occasion(NotificationEvent.of_end(move.outcome), stamp(failed.since) if failed else "")
    if memory.is_shadow:
        return None
    match move.phase:
        case Phase.LEFT_ALONE if memory.left_alone is not None:
            return Occasion(NotificationEvent.LEFT_ALONE, memory.left_alone.given.isoformat())
        case Phase.EXHAUSTED:
            return Occasion(NotificationEvent.EXHAUSTED, _latest_step(incident))
        case Phase.REMEDIATING if step := _latest_step(incident):
            return Occasion(NotificationEvent.STEP_TAKEN, step)
        case Phase.HELD:
            return _held(memory)
    return None


def _latest_step(incident: Incident) -> str:
    """Tells the latest step from all others: its request, or the time of the deletion or mark."""
    if incident.observation.requests:
        return incident.plan.latest(incident.observation.requests).uid
    at = incident.memory.disruption.at
    return at.isoformat() if at else ""


def _held(memory: Memory) -> Occasion | None:
    """The question to a person, if there is one; else the hold."""
    approval, since = memory.approval, memory.notifications.held_since
    if memory.is_blocked:
        return None
    if approval is not None and approval.answer is None:
        key = f"{approval.asked_at.isoformat()} {approval.is_expired}"
        return Occasion(NotificationEvent.APPROVAL_REQUIRED, key)
    if approval is not None and approval.answer is ApprovalAnswer.REJECTED:
        at = approval.answered_at or approval.asked_at
        return Occasion(NotificationEvent.STEP_REJECTED, at.isoformat())
    return None if since is None else Occasion(NotificationEvent.HELD, stamp(since))


def _is_held(incident: Incident, move: Wait | End) -> bool:
    memory, hold = incident.memory, incident.observation.hold
    if isinstance(move, End) or move.phase is not Phase.HELD or memory.is_blocked or memory.is_shadow:
        return False
    is_wanted = hold is not None and hold.reason in WANTED_BY_PEOPLE
    return not is_wanted and (memory.approval is None or memory.approval.answer is ApprovalAnswer.APPROVED)


def _notification(
    reference: IncidentReference, incident: Incident, move: Wait | End, occasion: Occasion, began: datetime
) -> Notification:
    failed = incident.memory.delays.fact
    next_event, until = "", None
    if isinstance(move, Wait):  # no reader needs its next question to the detector
        waits_for = move.next_transition
        next_event, until = (HOLD_ENDS, None) if move.asks_next else (waits_for.what, waits_for.at)
    return Notification(
        id=notification_id(reference, began, f"{occasion.event} {occasion.key}"),
        event=occasion.event,
        asks_a_person=occasion.event.asks_a_person,
        incident=reference,
        at=incident.now,
        failed_since=None if failed is None or is_by_order(failed) else failed.since,
        title=f"{reference.target} {_TITLES[occasion.event](incident)}",
        reason=move.details.lasting,
        waits_for=next_event,
        waits_until=until,
        commands=_commands(reference, incident, occasion.event),
    )


HOLD_ENDS = "when the hold ends, or by an order"


def _commands(reference: IncidentReference, incident: Incident, event: NotificationEvent) -> tuple[str, ...]:
    """The command lines that help now, the most likely first; the last one shows the incident."""
    name = shlex.quote(f"{reference.check.name}/{reference.target.name}")
    of = f"{name} --cluster {shlex.quote(reference.cluster)}"
    asked = incident.memory.approval if event is NotificationEvent.APPROVAL_REQUIRED else None
    step = f" --step {shlex.quote(asked.name)}" if asked is not None else ""
    orders = (f"paramedic {order} {of}{step}" for order in _ORDERS.get(event, ()))
    return (*orders, f"paramedic show {of}")


_ORDERS: Mapping[NotificationEvent, tuple[str, ...]] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: ("approve", "reject"),
        NotificationEvent.STEP_REJECTED: ("resume",),
        NotificationEvent.EXHAUSTED: ("resume", "abort"),
        NotificationEvent.LEFT_ALONE: ("resume",),
    }
)


def _asks(incident: Incident) -> str:
    approval = incident.memory.approval
    step = approval.name if approval else "its next step"
    if approval is not None and approval.is_expired:
        return f"still waits for the approval of {step}, and the time for the answer is over"
    return f"waits for the approval of {step}"


def _rejected(incident: Incident) -> str:
    approval = incident.memory.approval
    is_answered = approval is not None and approval.answer is ApprovalAnswer.REJECTED
    return f"does not get {approval.name}, which was rejected" if approval and is_answered else "gets no step"


def _held_words(incident: Incident) -> str:
    since = incident.memory.notifications.held_since
    return f"is held since {stamp(since)}" if since else "is held"


def _step_words(incident: Incident) -> str:
    requests = incident.observation.requests
    step = incident.plan.step_of(incident.plan.latest(requests).reference) if requests else None
    if step is None:
        return "is being remediated"
    number, of = incident.plan.steps.index(step) + 1, len(incident.plan.steps)
    return f"is being remediated by {step.template.kind}/{step.template.name}, step {number} of {of}"


def _left_alone_words(incident: Incident) -> str:
    order = incident.memory.left_alone
    by = f" by {order.identity}" if order and order.identity else ""
    return f"is left alone after an abort{by}"


def _recovered_words(incident: Incident) -> str:
    return f"recovered {'after an abort' if incident.memory.has_acted else 'before anything was done'}"


def _always(words: str) -> Callable[[Incident], str]:
    return lambda _: words


_TITLES: Mapping[NotificationEvent, Callable[[Incident], str]] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: _asks,
        NotificationEvent.STEP_REJECTED: _rejected,
        NotificationEvent.HELD: _held_words,
        NotificationEvent.EXHAUSTED: _always("is still unhealthy after every step"),
        NotificationEvent.STEP_TAKEN: _step_words,
        NotificationEvent.LEFT_ALONE: _left_alone_words,
        NotificationEvent.RECOVERED: _recovered_words,
        NotificationEvent.REMEDIATED: _always("was remediated"),
        NotificationEvent.RELEASED: _always("no longer belongs to its check"),
        NotificationEvent.GONE: _always("is gone"),
        NotificationEvent.WOULD_HAVE_REMEDIATED: _always("would have been remediated, without shadow"),
    }
)
