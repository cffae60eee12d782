"""The parts of an incident's memory, each a value of its own. Pure.

- The Lease. The running step sets its duration, and it is renewed at half of that time.
- The disruption (rule 28): after a deletion the incident waits until the target is gone, after a mark until
  the other controller removes the mark. The detector's state may lag and lack the mark: the target is not
  marked again before `SEEN_AFTER`. A deletion whose answer was lost counts as ours if the target disappears.
- The recovery: the boot ID that the target had right before the first step that counts. The request itself
  records it, so a lost answer, a lost incident or a boot between a look and the request do no harm. A step is
  the first one while no other part of the remediation exists or was tried.
- The delays: where the time from a failure to its remediation goes. The parts are wait (the duration of the
  check, and a blind period before it), hold (any reason to hold, and orders of people), queue (the hold
  `Limit`), and act (all the rest, from the admission to the request). Time without an answer of the detector
  counts like the state before it.
- The notifications: empty while the policy has no receivers.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator

from health.check.ordered import Trigger, is_by_order, trigger_of
from health.model.notification import NotificationEvent
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import Action, Step
from health.model.verdict import Fact
from health.runbook.escalation import lease_duration
from objects.bounds import FailFast, Time, bounded_seconds
from objects.frozen import Frozen, OpenEnum

SEEN_AFTER = timedelta(seconds=10)
"""How long the detector may take to see our change before the change counts as undone."""
Seconds = Annotated[float, AfterValidator(bounded_seconds)]


class LeaseState(StrEnum):
    """The state of the Lease, as far as the incident knows."""

    NOT_TAKEN = "NotTaken"
    HELD = "Held"
    """Held, or possibly held because an act was ordered. The Lease of an act that broke off is released too.
    """
    RELEASED = "Released"
    """The remediation is overdue; the next act acquires the Lease again."""


@dataclass(frozen=True, kw_only=True)
class LeaseMemory(FailFast):
    """The Lease of one target, which names the control-plane lock if it needs one."""

    state: OpenEnum[LeaseState] = LeaseState.NOT_TAKEN
    duration_seconds: Seconds = 600
    """Before the first act: the duration for a step without a timeout."""
    acquired_at: Time | None = None
    observed_at: Time | None = None
    """The acquisition time that the detector saw last, if it differs from ours."""
    request_acquired_at: Time | None = None
    """The acquisition time for the latest request; None: the incident found that request."""
    renew_at: Time | None = None
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
        """True if the next renewal is due."""
        return self.renew_at is None or now >= self.renew_at

    def taken(self, step: Step, acquired: datetime | None, now: datetime) -> Self:
        """The same after an act for `step`; an act that found a request knows no acquisition time."""
        return replace(
            self,
            state=LeaseState.HELD,
            duration_seconds=lease_duration(step).total_seconds(),
            acquired_at=acquired or self.acquired_at,
            renew_at=now + lease_duration(step) / 2,
        )

    def renewed(self, acquired: datetime | None, now: datetime) -> Self:
        return replace(self, acquired_at=acquired or self.acquired_at, renew_at=now + self.duration / 2)


@dataclass(frozen=True, kw_only=True)
class Disruption(FailFast):
    """A deletion, a mark that the detector has not seen yet, or nothing."""

    action: OpenEnum[Action] | None = None
    at: Time | None = None
    """None: the deletion was ordered, and its result is unknown."""

    @property
    def deleted_at(self) -> datetime | None:
        """When the incident deleted the target, which may not be gone yet; None: it did not succeed."""
        return self.at if self.action is Action.DELETE else None

    @property
    def may_have_deleted(self) -> bool:
        """True if the deletion was ordered and its result is unknown."""
        return self.action is Action.DELETE and self.at is None

    @property
    def marked_at(self) -> datetime | None:
        """When the incident marked the target, if the mark is not seen yet."""
        return self.at if self.action is Action.MARK else None


@dataclass(frozen=True, kw_only=True)
class RecoveryMemory(FailFast):
    """The boots and the health of one target."""

    has_begun: bool = False
    """True once a step was taken, so that a recovery needs its proof."""
    boot_id_before: str | None = None
    """The boot ID right before the first step; None: unknown, or no step was taken."""
    healthy_since: Time | None = None
    """Without a gap; None: the target is not healthy."""
    gone_at: Time | None = None
    """When the target was last seen to be gone; None: it exists."""
    boot_id: str | None = None
    """The boot ID while healthy; None: unknown."""
    last_transition: Time | None = None
    """The latest transition while healthy; None: unknown."""

    @property
    def ended_at(self) -> datetime | None:
        """When the failure was over: by a recovery, or with the target; None: it lasts."""
        return self.healthy_since or self.gone_at

    def begun(self, boot_id: str | None, *, is_first: bool) -> Self:
        """The same after a step on a target with this boot ID."""
        if self.has_begun and not is_first:
            return self
        return replace(self, has_begun=True, boot_id_before=boot_id or None)


class Part(StrEnum):
    """A part of the time from a failure to its remediation, as the metric names it."""

    WAIT = "wait"
    HOLD = "hold"
    QUEUE = "queue"
    ACT = "act"


class RequestDelay(Frozen):
    """The times of one failure up to an act."""

    failed: datetime
    deadline: datetime
    hold_seconds: float = 0
    queue_seconds: float = 0
    trigger: OpenEnum[Trigger] = Trigger.AUTOMATED
    """Manual: `failed` is the time of a person's order."""

    def parts(self, requested: datetime) -> dict[Part, float]:
        """The seconds of each part if the request was made then; their sum is the whole time.

        Clocks differ and times of Kubernetes are whole seconds, so a part is cut to what is left.
        """
        left = max(0.0, (requested - self.failed).total_seconds())
        measured = {
            Part.WAIT: (self.deadline - self.failed).total_seconds(),
            Part.HOLD: self.hold_seconds,
            Part.QUEUE: self.queue_seconds,
        }
        found: dict[Part, float] = {}
        for part, seconds in measured.items():
            found[part] = min(max(0.0, seconds), left)
            left -= found[part]
        return {**found, Part.ACT: left}


@dataclass(frozen=True, kw_only=True)
class Delays(FailFast):
    """The failure that the present remediation is for, and how long it was held and queued so far."""

    fact: Fact | None = None
    """The failure; None: none was seen."""
    deadline: Time | None = None
    hold_seconds: Seconds = 0
    queue_seconds: Seconds = 0
    since: Time | None = None
    """Since when it has been held or queued; None: it is neither."""
    part: OpenEnum[Part] | None = None
    """Hold or queue, if it is in one of them."""

    def observed(
        self, observation: Observation, now: datetime, *, is_blocked: bool, is_before_the_first_step: bool
    ) -> Self:
        """The delays after an observation; a new failure starts new ones only before the first step."""
        fact, deadline = observation.fact, observation.deadline
        delays = self
        if is_before_the_first_step and fact is not None and deadline is not None:
            is_known = fact.same_as(self.fact)
            delays = (
                replace(self, deadline=deadline) if is_known else type(self)(fact=fact, deadline=deadline)
            )
        part, reason = None, observation.hold.reason if observation.hold else None
        if observation.state in (TargetState.EXPIRED, TargetState.UNKNOWN):
            is_queued = reason is HoldReason.LIMIT and not is_blocked
            is_held = is_blocked or reason not in (None, HoldReason.NO_ADMISSION)
            part = Part.QUEUE if is_queued else Part.HOLD if is_held else None
        return delays if part is delays.part else delays.moved_to(part, now)

    def before_act(self, now: datetime) -> RequestDelay | None:
        """The times up to an act at `now`; None without a failure."""
        if self.fact is None or self.deadline is None:
            return None
        until = self.moved_to(None, now)
        return RequestDelay(
            failed=self.fact.since,
            deadline=self.deadline,
            hold_seconds=until.hold_seconds,
            queue_seconds=until.queue_seconds,
            trigger=trigger_of(is_ordered=is_by_order(self.fact)),
        )

    def moved_to(self, part: Part | None, now: datetime) -> Self:
        """The delays with `part` beginning at `now`; a hold before the deadline delays nothing."""
        began = max(self.since, self.deadline or self.since) if self.since else now
        spent = max(0.0, (now - began).total_seconds())
        return replace(
            self,
            hold_seconds=self.hold_seconds + (spent if self.part is Part.HOLD else 0),
            queue_seconds=self.queue_seconds + (spent if self.part is Part.QUEUE else 0),
            since=now if part else None,
            part=part,
        )


@dataclass(frozen=True, kw_only=True)
class SentNotification(FailFast):
    """The latest notification of one event to one receiver."""

    receiver: str
    event: OpenEnum[NotificationEvent]
    key: str
    """Tells it from other notifications of the same event."""


@dataclass(frozen=True, kw_only=True)
class NotificationMemory(FailFast):
    """The part of an incident's memory about its notifications."""

    held_since: Time | None = None
    """Since when something other than a person has held it; None: nothing does."""
    sent: tuple[SentNotification, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NewStart(FailFast):
    """A person's order to delete all requests and take the steps again."""

    first_step: str | None = None
    """A name of the template of the first step to take; None: the first step of the check."""


@dataclass(frozen=True, kw_only=True)
class Loss(FailFast):
    """The loss of a request or mark, by another actor, while the target was unhealthy."""

    at: Time
    attempt: int
    """The number of that remediation in a row; each loss counts as one (rule 14)."""
