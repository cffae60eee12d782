"""MemoryParts: what an incident remembers of its Lease, disruption, recovery, notifications and orders. Pure.

The Lease: the running step sets its duration, and it is renewed at half of that time. A remediation is
overdue (NHC 2.5, rule 13) after three times that duration plus the timeouts of the earlier steps, counted
from the acquisition of the Lease. A request that the incident made gets three durations of its own under the
Lease that it was made under, so time lost to a deleted request (rule 9) or to an old Lease of ours is not
charged to it. For a request that the incident found, or whose Lease has another acquisition time now, only
the Lease counts.

The disruption (rule 28): after a deletion the incident waits until the target is gone, after a mark until the
other controller removes the mark. The detector's state may lag and lack the mark: the target is not marked
again before `SEEN_AFTER`. A deletion whose answer was lost counts as ours if the target disappears.

The recovery: the boot ID that the target had right before the first step that counts. The request itself
records it, so a lost answer, a lost incident or a boot between a look and the request do no harm. A step is
the first one while no other part of the remediation exists or was tried. The target is healthy since the
incident first saw it so, with the same boot ID and the same time of the latest transition of a relevant
condition. A change of either is a gap, whether or not the incident saw the unhealthy state. The kubelet's
timestamps only reveal gaps and measure no time, because the clock of a machine that has just booted may be
off.

The notifications: empty while the policy has no receivers.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from health.model.incident_result import MOST_RECORDS
from health.model.notification import NotificationEvent
from health.model.observation import Observation, TargetState
from health.model.order import Blocks, OrderRecord
from health.model.references import Action, Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.escalation import CLASSIC_LEASE, Plan
from health.runbook.task_notes import LeftBehind
from objects.frozen import Frozen, OpenEnum

OVERDUE_AFTER = 3
"""Multiples of the Lease duration."""


class _Part(Frozen):
    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)


class LeaseState(StrEnum):
    """The state of the Lease, as far as the incident knows."""

    NOT_TAKEN = "NotTaken"
    HELD = "Held"
    """Held, or possibly held because an act was ordered. The Lease of an act that broke off is released too.
    """
    RELEASED = "Released"
    """The remediation is overdue; the next act acquires the Lease again."""


class LeaseMemory(_Part):
    """The Lease of one target, which names the control-plane lock if it needs one."""

    state: OpenEnum[LeaseState] = LeaseState.NOT_TAKEN
    duration_seconds: float = CLASSIC_LEASE.total_seconds()
    acquired_at: datetime | None = None
    observed_at: datetime | None = None
    """The acquisition time that the detector saw last, if it differs from ours."""
    request_acquired_at: datetime | None = None
    """The acquisition time for the latest request; None: the incident found that request."""
    renew_at: datetime | None = None
    """When to renew next; None: now, or nothing to renew."""

    @property
    def may_be_held(self) -> bool:
        """True if the Lease must be released before the incident may end."""
        return self.state is LeaseState.HELD

    @property
    def is_held(self) -> bool:
        """True if the Lease was certainly acquired and not released."""
        return self.may_be_held and self.acquired_at is not None

    @property
    def duration(self) -> timedelta:
        return timedelta(seconds=self.duration_seconds)

    def is_due(self, now: datetime) -> bool:
        return self.renew_at is None or now >= self.renew_at

    def overdue_at(self, plan: Plan, latest: RequestSnapshot) -> datetime:
        """When the remediation with this latest request is overdue.

        With an unknown acquisition time, the creation of the request counts.
        """
        longest = OVERDUE_AFTER * self.duration
        if self.acquired_at is None:
            return latest.created + longest
        step = plan.step_of(latest.reference)
        began = self.acquired_at + (plan.time_before(step) if step else timedelta())
        is_made_under_it = self.acquired_at == self.request_acquired_at
        return (max(began, latest.created) if is_made_under_it else began) + longest

    def ordered(self) -> Self:
        """The same from the moment that an act is ordered."""
        return self._with(state=LeaseState.HELD)

    def taken(self, duration: timedelta, acquired: datetime | None, renew_at: datetime) -> Self:
        """The same after an act acquired it.

        An act that found a request does not know the acquisition time.
        """
        return self._with(
            state=LeaseState.HELD,
            duration_seconds=duration.total_seconds(),
            acquired_at=acquired or self.acquired_at,
            renew_at=renew_at,
        )

    def for_request(self) -> Self:
        """The same as the Lease that the latest request was made under."""
        return self._with(request_acquired_at=self.acquired_at)

    def adopted(self, duration_seconds: float | None, now: datetime) -> Self:
        """The same while requests exist; the end of the Lease of a request that was found is unknown."""
        return self._with(
            state=self.state if self.state is LeaseState.RELEASED else LeaseState.HELD,
            duration_seconds=duration_seconds or self.duration_seconds,
            renew_at=self.renew_at or now,
        )

    def observed(self, acquired: datetime | None, now: datetime) -> Self:
        """The same after the detector saw another acquisition time, which the next renewal verifies."""
        if acquired is None or acquired in (self.acquired_at, self.observed_at):
            return self
        return self._with(observed_at=acquired, renew_at=now)

    def renewed(self, acquired: datetime | None, now: datetime) -> Self:
        return self._with(acquired_at=acquired or self.acquired_at, renew_at=now + self.duration / 2)

    def renewed_later(self, at: datetime | None) -> Self:
        """The same after a failed renewal, with the time of the next try."""
        return self._with(renew_at=at)

    def released(self) -> Self:
        """The same after its release while requests stay."""
        return self._with(state=LeaseState.RELEASED, acquired_at=None)

    def after_clean_up(self, left: LeftBehind) -> Self:
        """The same after a clean-up that left `left` behind."""
        if left.has_lease:
            return self
        stays_released = self.state is LeaseState.RELEASED and bool(left.requests)
        state = LeaseState.RELEASED if stays_released else LeaseState.NOT_TAKEN
        return self._with(state=state, acquired_at=None, renew_at=None)


SEEN_AFTER = timedelta(seconds=10)
"""How long the detector may take to see our change before the change counts as undone."""


class Disruption(Frozen):
    """A deletion, a mark that the detector has not seen yet, or nothing."""

    action: OpenEnum[Action] | None = None
    at: datetime | None = None
    """None: the deletion was ordered, and its result is unknown."""

    @property
    def deleted_at(self) -> datetime | None:
        """When the incident deleted the target, which may not be gone yet."""
        return self.at if self.action is Action.DELETE else None

    @property
    def has_deleted(self) -> bool:
        """True if the deletion succeeded; the target may still exist."""
        return self.deleted_at is not None

    @property
    def may_have_deleted(self) -> bool:
        """True if the deletion was ordered and its result is unknown."""
        return self.action is Action.DELETE and self.at is None

    @property
    def marked_at(self) -> datetime | None:
        """When the incident marked the target, if the mark is not seen yet."""
        return self.at if self.action is Action.MARK else None

    def until(self, now: datetime) -> Self:
        """The same at `now`: a mark that should be visible by then counts as undone."""
        is_over = self.marked_at is not None and now >= self.marked_at + SEEN_AFTER
        return type(self)() if is_over else self

    def ordered(self, step: Step) -> Self:
        if step.action is Action.DELETE:
            return type(self)(action=Action.DELETE)
        return type(self)() if self.may_have_deleted else self


class RecoveryMemory(_Part):
    """The boots and the health of one target."""

    boot_id_before: str | None = None
    """None: no step was taken; "": unknown."""
    healthy_since: datetime | None = None
    """Without a gap; None: the target is not healthy."""
    gone_at: datetime | None = None
    """When the target was last seen to be gone; None: it exists."""
    boot_id: str = ""
    """The boot ID while healthy; "": unknown."""
    last_transition: datetime | None = None
    """The latest transition while healthy; None: unknown."""

    @property
    def ended_at(self) -> datetime | None:
        """When the failure was over: by a recovery, or with the target; None: it lasts."""
        return self.healthy_since or self.gone_at

    def begun(self, boot_id: str, *, is_first: bool) -> Self:
        """The same after a step on a target with this boot ID."""
        if self.boot_id_before is not None and not is_first:
            return self
        return self._with(boot_id_before=boot_id)

    def observed(self, observation: Observation, now: datetime) -> Self:
        """The same after an observation; an unknown state changes nothing."""
        if observation.state is TargetState.UNKNOWN:
            return self
        if observation.state is not TargetState.HEALTHY:
            gone = now if observation.state is TargetState.GONE else None
            return self._with(healthy_since=None, boot_id="", last_transition=None, gone_at=gone)
        before = self.boot_id, self.last_transition
        if self.healthy_since is not None and before == (observation.boot_id, observation.last_transition):
            return self
        return self._with(
            healthy_since=now, boot_id=observation.boot_id, last_transition=observation.last_transition
        )

    def anew(self, boot_id: str) -> Self:
        """The same once all steps are to be taken again: the new steps need a proof too."""
        return self if self.boot_id_before is None else self._with(boot_id_before=boot_id)

    def over(self) -> Self:
        """The same once nothing is left of the remediation and no proof is needed."""
        return self._with(boot_id_before=None)


class SentNotification(Frozen):
    """The latest notification of one event to one receiver."""

    receiver: str
    event: OpenEnum[NotificationEvent]
    occasion: str
    """Tells it from other notifications of the same event."""


class NotificationMemory(Frozen):
    """The part of an incident's memory about its notifications."""

    held_since: datetime | None = None
    """Since when something other than a person has held it; None: nothing does."""
    sent: tuple[SentNotification, ...] = ()

    def has_sent(self, receiver: str, event: NotificationEvent, occasion: str) -> bool:
        return SentNotification(receiver=receiver, event=event, occasion=occasion) in self.sent

    def has_asked(self, receiver: str) -> bool:
        """True if that receiver was notified that a person has to decide."""
        events = (sent.event for sent in self.sent if sent.receiver == receiver)
        return any(isinstance(event, NotificationEvent) and event.asks_a_person for event in events)

    def having_sent(self, receiver: str, event: NotificationEvent, occasion: str) -> Self:
        """The same after a notification; it replaces the previous one of that event."""
        sent = SentNotification(receiver=receiver, event=event, occasion=occasion)
        others = (earlier for earlier in self.sent if (earlier.receiver, earlier.event) != (receiver, event))
        return self.model_copy(update={"sent": (*others, sent)})

    def held(self, *, is_held: bool, now: datetime) -> Self:
        """The same once it is held, or is not held, at `now`."""
        return self.model_copy(update={"held_since": (self.held_since or now) if is_held else None})


class OrdersMemory(_Part):
    """The orders that an incident got. Memory inherits it, so that its JSON keeps all fields on one level."""

    orders: tuple[OrderRecord, ...] = ()
    """The orders of people, for its result."""
    standing: tuple[OrderRecord, ...] = ()
    """The orders of people that stand, each until its time is over or another order ends it."""

    @property
    def held(self) -> OrderRecord | None:
        """The order that blocks new steps and keeps existing requests; None: there is none."""
        return self._blocking(Blocks.STEPS)

    @property
    def left_alone(self) -> OrderRecord | None:
        """The order to clean up and leave the target alone; None: there is none."""
        return self._blocking(Blocks.REMEDIATION)

    @property
    def blocking(self) -> tuple[OrderRecord, ...]:
        """The standing orders that block every step."""
        return tuple(order for order in self.standing if order.blocks is not None)

    @property
    def is_blocked(self) -> bool:
        return bool(self.blocking)

    def having_been_ordered(self, order: OrderRecord, *, stands: bool) -> Self:
        """The same with a new order; if it stands, it replaces a standing one of the same name."""
        others = tuple(standing for standing in self.standing if standing.order != order.order)
        return self._with(
            orders=(*self.orders, order)[-MOST_RECORDS:],
            standing=(*others, order) if stands else self.standing,
        )

    def having_decided(self, number: int, now: datetime, refused: str = "") -> Self:
        """The same once an observation decided whether the order at this index is obeyed."""
        orders = list(self.orders)
        is_reported = orders[number].is_reported and not refused
        changes = {"is_pending": False, "refused": refused, "decided": now, "is_reported": is_reported}
        orders[number] = orders[number].model_copy(update=changes)
        return self._with(orders=tuple(orders))

    @property
    def unreported_orders(self) -> tuple[OrderRecord, ...]:
        """The orders and refusals that the detector has not got yet."""
        return tuple(order for order in self.orders if not order.is_reported)

    def _blocking(self, blocked: Blocks) -> OrderRecord | None:
        """The latest standing order that blocks this."""
        return next((order for order in reversed(self.standing) if order.blocks is blocked), None)
