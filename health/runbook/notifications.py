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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from health.check.ordered import is_by_order
from health.model.approval import ApprovalAnswer
from health.model.moves import Deadline, End, Phase, Wait
from health.model.notification import Notification, NotificationEvent, WantedEvents, notification_id
from health.model.observation import HoldReason
from health.model.references import IncidentReference
from health.runbook.incident import Incident
from health.runbook.memory_parts import SentNotification
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


HOLD_ENDS = "when the hold ends, or by an order"


@dataclass(frozen=True)
class NotifiedEvent:
    """An event, and what tells it from the same event at another time."""

    event: NotificationEvent
    key: str


@dataclass(frozen=True)
class Due:
    """A notification that is due for one receiver."""

    receiver: str
    notification: Notification
    notified: NotifiedEvent

    def remembered(self, memory: Memory) -> Memory:
        """The memory once it is on its way; it replaces the previous notification of that event."""
        event, before = self.notified.event, memory.notifications
        sent = SentNotification(receiver=self.receiver, event=event, key=self.notified.key)
        others = (one for one in before.sent if (one.receiver, one.event) != (self.receiver, event))
        return replace(memory, notifications=replace(before, sent=(*others, sent)))


def noted(incident: Incident, move: Wait | End) -> Memory:
    """The memory with the beginning or the end of a hold."""
    memory, hold, before = incident.memory, incident.observation.hold, incident.memory.notifications
    if not incident.observation.notifies:
        return memory
    is_waiting = isinstance(move, Wait) and move.phase is Phase.HELD
    is_wanted = memory.is_blocked or (hold is not None and hold.reason in WANTED_BY_PEOPLE)
    is_asked = memory.approval is not None and memory.approval.answer is not ApprovalAnswer.APPROVED
    is_held = is_waiting and not is_wanted and not is_asked and not memory.is_shadow
    held_since = (before.held_since or incident.now) if is_held else None
    return replace(memory, notifications=replace(before, held_since=held_since))


def due(
    reference: IncidentReference, incident: Incident, move: Wait | End, began: datetime
) -> tuple[Due, ...]:
    """The notifications that are due before this move; `began` is when the incident began."""
    notified, since = _event(incident, move), incident.memory.notifications.held_since
    if notified is None:
        return ()
    receivers = []
    for wanted in incident.observation.notifies:
        held_for = timedelta(seconds=wanted.held_for_seconds)
        is_held_long = since is not None and incident.now - since >= held_for
        is_early = notified.event is NotificationEvent.HELD and not is_held_long
        if _is_news(wanted, incident.memory, notified) and not is_early:
            receivers.append(wanted.receiver)
    if not receivers:
        return ()
    message = _notification(reference, incident, move, notified, began)
    return tuple(Due(receiver, message, notified) for receiver in receivers)


def held_long_at(incident: Incident) -> Deadline | None:
    """When the next receiver is to be notified of the hold; None: there is none, or all of them know."""
    since = incident.memory.notifications.held_since
    if since is None:
        return None
    held = NotifiedEvent(NotificationEvent.HELD, stamp(since))
    left = (wanted for wanted in incident.observation.notifies if _is_news(wanted, incident.memory, held))
    at = min((since + timedelta(seconds=wanted.held_for_seconds) for wanted in left), default=None)
    return None if at is None or at <= incident.now else Deadline(at)


def _is_news(wanted: WantedEvents, memory: Memory, notified: NotifiedEvent) -> bool:
    """True if the receiver wants this event, or its end after a question, and does not know it."""
    events = [one.event for one in memory.notifications.sent if one.receiver == wanted.receiver]
    was_asked = any(isinstance(event, NotificationEvent) and event.asks_a_person for event in events)
    is_wanted = notified.event in wanted.events or (notified.event.is_end and was_asked)
    sent = SentNotification(receiver=wanted.receiver, event=notified.event, key=notified.key)
    return is_wanted and sent not in memory.notifications.sent


def _event(incident: Incident, move: Wait | End) -> NotifiedEvent | None:
    memory = incident.memory
    if isinstance(move, End):
        failed = memory.delays.fact
        return NotifiedEvent(NotificationEvent.of_end(move.outcome), stamp(failed.since) if failed else "")
    if memory.is_shadow:
        return None
    match move.phase:
        case Phase.LEFT_ALONE if memory.left_alone is not None:
            return NotifiedEvent(NotificationEvent.LEFT_ALONE, memory.left_alone.given.isoformat())
        case Phase.EXHAUSTED:
            return NotifiedEvent(NotificationEvent.EXHAUSTED, _latest_step(incident))
        case Phase.REMEDIATING if step := _latest_step(incident):
            return NotifiedEvent(NotificationEvent.STEP_TAKEN, step)
        case Phase.HELD if not memory.is_blocked:
            return _held(memory)
    return None


def _latest_step(incident: Incident) -> str:
    """Tells the latest step from all others: its request, or the time of the deletion or mark."""
    if incident.observation.requests:
        return incident.plan.latest(incident.observation.requests).uid
    at = incident.memory.disruption.at
    return at.isoformat() if at else ""


def _held(memory: Memory) -> NotifiedEvent | None:
    """The question to a person, if there is one; else the hold."""
    approval, since = memory.approval, memory.notifications.held_since
    if approval is not None and approval.answer is None:
        key = f"{approval.asked_at.isoformat()} {approval.is_expired}"
        return NotifiedEvent(NotificationEvent.APPROVAL_REQUIRED, key)
    if approval is not None and approval.answer is ApprovalAnswer.REJECTED:
        at = approval.answered_at or approval.asked_at
        return NotifiedEvent(NotificationEvent.STEP_REJECTED, at.isoformat())
    return None if since is None else NotifiedEvent(NotificationEvent.HELD, stamp(since))


def _notification(
    reference: IncidentReference,
    incident: Incident,
    move: Wait | End,
    notified: NotifiedEvent,
    began: datetime,
) -> Notification:
    event, failed = notified.event, incident.memory.delays.fact
    next_event, until = "", None
    if isinstance(move, Wait):  # no reader needs its next question to the detector
        waits_for = move.next_transition
        next_event, until = (HOLD_ENDS, None) if move.asks_next else (waits_for.what, waits_for.at)
    # The command lines that help now, the most likely first; the last one shows the incident.
    name = shlex.quote(f"{reference.check.name}/{reference.target.name}")
    of = f"{name} --cluster {shlex.quote(reference.cluster)}"
    asked = incident.memory.approval if event is NotificationEvent.APPROVAL_REQUIRED else None
    step = f" --step {shlex.quote(asked.name)}" if asked is not None else ""
    orders = (f"paramedic {order} {of}{step}" for order in _ORDERS.get(event, ()))
    return Notification(
        id=notification_id(reference, began, f"{event} {notified.key}"),
        event=event,
        asks_a_person=event.asks_a_person,
        incident=reference,
        at=incident.now,
        failed_since=None if failed is None or is_by_order(failed) else failed.since,
        title=f"{reference.target} {_title(event, incident)}",
        reason=move.details.lasting,
        waits_for=next_event,
        waits_until=until,
        commands=(*orders, f"paramedic show {of}"),
    )


_ORDERS: Mapping[NotificationEvent, tuple[str, ...]] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: ("approve", "reject"),
        NotificationEvent.STEP_REJECTED: ("resume",),
        NotificationEvent.EXHAUSTED: ("resume", "abort"),
        NotificationEvent.LEFT_ALONE: ("resume",),
    }
)


_TITLES: Mapping[NotificationEvent, str] = MappingProxyType(
    {
        NotificationEvent.APPROVAL_REQUIRED: "waits for the approval of its next step",
        NotificationEvent.STEP_REJECTED: "gets no step",
        NotificationEvent.HELD: "is held",
        NotificationEvent.EXHAUSTED: "is still unhealthy after every step",
        NotificationEvent.STEP_TAKEN: "is being remediated",
        NotificationEvent.LEFT_ALONE: "is left alone after an abort",
        NotificationEvent.RECOVERED: "recovered before anything was done",
        NotificationEvent.REMEDIATED: "was remediated",
        NotificationEvent.RELEASED: "no longer belongs to its check",
        NotificationEvent.GONE: "is gone",
        NotificationEvent.WOULD_HAVE_REMEDIATED: "would have been remediated, without shadow",
    }
)


def _title(event: NotificationEvent, incident: Incident) -> str:
    """The title of an event after the name of the target, with the values of the incident."""
    memory, approval, steps = incident.memory, incident.memory.approval, incident.plan.steps
    requests, since, order = incident.observation.requests, memory.notifications.held_since, memory.left_alone
    match event:
        case NotificationEvent.APPROVAL_REQUIRED if approval is not None and approval.is_expired:
            return f"still waits for the approval of {approval.name}, and the time for the answer is over"
        case NotificationEvent.APPROVAL_REQUIRED if approval is not None:
            return f"waits for the approval of {approval.name}"
        case NotificationEvent.STEP_REJECTED if approval is not None and memory.is_rejected:
            return f"does not get {approval.name}, which was rejected"
        case NotificationEvent.HELD if since is not None:
            return f"is held since {stamp(since)}"
        case NotificationEvent.STEP_TAKEN if requests:
            step = incident.plan.step_of(incident.plan.latest(requests).reference)
            if step is not None:
                template, number = step.template, list(steps).index(step) + 1
                place = f"step {number} of {len(steps)}"
                return f"is being remediated by {template.kind}/{template.name}, {place}"
        case NotificationEvent.LEFT_ALONE if order is not None and order.identity:
            return f"{_TITLES[event]} by {order.identity}"
        case NotificationEvent.RECOVERED if memory.has_acted:
            return "recovered after an abort"
    return _TITLES[event]
