"""Incident: one incident at one time: its observation, its memory, and what follows from both. Pure.

The observation is seen through three rules, so no row of the runbook knows them:

A remediation by order (ADR 51): the detector counts a target that its check finds healthy as unhealthy while
a person's order to remediate is on it. Once the incident ended the order, the target counts as healthy.

Proof of recovery (ADR 38) applies if the check requires it, once a step was taken, and without an abort, a
person's confirmation or shadow. The first row that matches wins:

| its boot ID                         | it counts as recovered                         | until then          |
|-------------------------------------|------------------------------------------------|---------------------|
| is that from before the first step  | never                                          | it is unhealthy     |
| is another one                      | when it is healthy for the time, without a gap | requests are kept   |
| is unknown, now or before           | the same: only the time counts                 | requests are kept   |

A target that counts as unhealthy follows the rest of the runbook: its step runs until its timeout, then comes
the next one, and after the last one the incident waits for `resume`. While requests are kept no step times
out; if the target fails again meanwhile, the age of its step has not changed.

Shadow (ADR 31): the incident may write nothing. A recorded step counts as a running request: its timeout
passes, and the next step comes. The requests of others are neither adopted nor maintained. Requests that the
incident made before the shadow are maintained and cleaned up as usual.

The Lease: a remediation is overdue (NHC 2.5, rule 13) after three times the duration of the Lease plus the
timeouts of the earlier steps, counted from the acquisition of the Lease. A request that the incident made
gets three durations of its own under the Lease that it was made under, so time lost to a deleted request
(rule 9) or to an old Lease of ours is not charged to it. For a request that the incident found, or whose
Lease has another acquisition time now, only the Lease counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from health.check.ordered import is_by_order
from health.gate.back_off import delay
from health.model.admission import Admission
from health.model.boot import boot_id_of, is_same_boot
from health.model.observation import ENDED, HoldReason, Observation, TargetState
from health.model.references import Action, RequestReference, Step
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook.escalation import Plan, StepProgress
from health.runbook.failures import MaintenanceTask, TaskNote, still_ahead
from health.runbook.memory_parts import RecoveryMemory
from health.runbook.state import Memory
from objects.bounds import bounded_seconds
from objects.durations import in_words
from objects.timestamps import stamp

STOP_PATIENCE = timedelta(minutes=1)
"""How long the next step waits for the stop annotation, from the first failure to write it."""
OVERDUE_AFTER = 3
"""Multiples of the Lease duration."""


@dataclass(frozen=True)
class HealthyDelay:
    """How long the requests of a healthy target are kept (NHC 2.6, rule 19).

    Without a delay, or with zero, they are deleted at once; with a negative delay they stay until a person
    confirms that the target is healthy, which overrides any delay. The time counts from the latest recovery:
    a target that fails again starts over. A changed delay applies at once.
    """

    seconds: float
    is_confirmed: bool = False

    @classmethod
    def of(cls, observation: Observation) -> Self:
        """The delay of the check at this observation."""
        return cls(observation.healthy_delay_seconds, observation.is_confirmed)

    @property
    def keeps_requests(self) -> bool:
        """True if the requests of a healthy target are kept at all."""
        return self.seconds != 0 and not self.is_confirmed

    @property
    def is_for_good(self) -> bool:
        """True if only a person ends the delay."""
        return self.keeps_requests and self.seconds < 0

    def is_running(self, request: RequestSnapshot, now: datetime) -> bool:
        """True if `request` is to be kept at `now`."""
        left = self.remaining(request, now)
        return self.keeps_requests and (left is None or request.healthy_since is None or left > timedelta())

    def remaining(self, request: RequestSnapshot, now: datetime) -> timedelta | None:
        """How long `request` is still kept; None: until a person confirms."""
        if self.is_for_good:
            return None
        return max(timedelta(), (request.healthy_since or now) + timedelta(seconds=self.seconds) - now)

    def __str__(self) -> str:
        if self.is_for_good:
            return "healthyDelay is negative: kept until a person confirms that it is healthy"
        return f"healthyDelay of {in_words(timedelta(seconds=self.seconds))}"


def is_order_in_force(observation: Observation, memory: Memory) -> bool:
    """True if the order on the target is not over; False without one, as it was just removed."""
    order, known = observation.order, memory.order
    return order is not None and not (
        known is not None and known.given == order.given and memory.order_ended is not None
    )


def proof_time(observation: Observation) -> timedelta:
    """How long the target must be healthy to prove its recovery."""
    return timedelta(seconds=bounded_seconds(observation.proven_recovery_seconds))


def _needs_proof(observation: Observation, memory: Memory) -> bool:
    is_owed = observation.proven_recovery_seconds > 0 and memory.recovery.has_begun
    # All is cleaned up for a restart: no act would take a step that the cluster does not show.
    is_begun_anew = memory.starts_over and not memory.owns_something and not observation.requests
    is_let_off = observation.is_confirmed or memory.left_alone or memory.is_shadow or is_begun_anew
    return observation.state is TargetState.HEALTHY and is_owed and not is_let_off


def with_proof(observation: Observation, memory: Memory) -> Observation:
    """The observation, in which a healthy target that did not boot counts as unhealthy.

    A target that only an ended order makes unhealthy counts as healthy before.
    """
    is_by_order_alone = is_by_order(observation.fact) and observation.state not in ENDED
    if is_by_order_alone and not is_order_in_force(observation, memory):
        ended = f": {memory.order_ended}" if memory.order_ended else ""
        reason = f"healthy, and the order to remediate it is over{ended}"
        observation = observation.model_copy(update={"state": TargetState.HEALTHY, "reason": reason})
    before, boot = memory.recovery.boot_id_before or "", observation.boot_id
    if not _needs_proof(observation, memory) or not is_same_boot(boot, before):
        return observation
    since = memory.recovery.healthy_since
    when = f" since {stamp(since)}" if since else ""
    reason = f"healthy{when}, but its boot ID {boot_id_of(boot)} is the same as before the step"
    return observation.model_copy(update={"state": TargetState.EXPIRED, "reason": reason})


def with_proof_of_requests(observation: Observation) -> Observation:
    """The same without a memory: the oldest request counts as the first step."""
    first = min(observation.requests, key=lambda request: request.created, default=None)
    if first is None:
        return observation
    return with_proof(observation, Memory(recovery=RecoveryMemory().begun(first.boot_id, is_first=True)))


def without_others(observation: Observation, memory: Memory) -> Observation:
    """The observation without the actions of others, for an incident in shadow."""
    own = {request.uid for request in memory.requests}
    changes: dict[str, object] = {
        "requests": tuple(request for request in observation.requests if request.uid in own)
    }
    if not memory.has_acted:
        changes |= {"under_way": "", "is_marked": False}
    if not memory.owns_something:
        # A person's confirmation is for the controller that keeps the requests of the Node.
        changes |= {"lease_acquired_at": None, "is_confirmed": False}
    return observation.model_copy(update=changes)


def _as_recorded(observation: Observation, memory: Memory) -> Observation:
    """In shadow, the observation as if the recorded steps were taken.

    Their requests count as succeeded, so that they are not annotated; an abort would have removed them. A
    recorded step needs no admission, but any other hold applies. The detector knows nothing of a `resume`
    that skips the back-off, because no question asks to act.
    """
    own = without_others(observation, memory)
    if observation.state in ENDED or memory.left_alone:
        return own
    recorded = tuple(
        RequestSnapshot(
            reference=RequestReference(
                api_version=step.template.api_version,
                kind=step.template.request_kind,
                namespace=step.template.namespace,
                name=f"would-be-{number}",
                uid=f"shadow-{number}",
                template=step.template.name,
            ),
            created=step.at,
            succeeded=True,
            is_flagged_as_old=True,
        )
        for number, step in enumerate(memory.shadow.current)
        if step.action is Action.REQUEST
    )
    seen = own.model_copy(update={"requests": (*own.requests, *recorded)})
    reason = seen.hold.reason if seen.hold else HoldReason.NO_ADMISSION
    is_skipped = reason is HoldReason.BACK_OFF and memory.skips_back_off
    is_held = reason is not HoldReason.NO_ADMISSION and not is_skipped
    return seen if is_held or seen.state is not TargetState.EXPIRED else seen.admitted(Admission())


@dataclass(frozen=True)
class Incident:
    """The values that the rows of the runbook read, and what follows from them."""

    observation: Observation
    """Seen through the proof of recovery and shadow."""
    memory: Memory
    now: datetime
    others: tuple[RequestSnapshot, ...] = ()
    """In shadow: the requests that it did not make and does not adopt."""

    @classmethod
    def of(cls, observation: Observation, memory: Memory, now: datetime) -> Self:
        proven = with_proof(observation, memory)
        if not memory.is_shadow:
            return cls(proven, memory, now)
        own = {request.uid for request in memory.requests}
        others = tuple(request for request in observation.requests if request.uid not in own)
        return cls(_as_recorded(proven, memory), memory, now, others)

    @property
    def has_ended(self) -> bool:
        """True if the target needs no remediation any more."""
        return self.observation.state in ENDED

    @property
    def has_begun(self) -> bool:
        """True if the remediation has requests, or has tried steps."""
        return bool(self.observation.requests or self.memory.tried)

    @property
    def is_state_known(self) -> bool:
        return self.observation.state is not TargetState.UNKNOWN

    @property
    def has_objects(self) -> bool:
        """True if objects of the incident are left in the cluster."""
        return self.memory.owns_something or bool(self.observation.requests)

    @property
    def is_mark_unseen(self) -> bool:
        """True if it marked the target, and the detector does not see the mark yet."""
        is_marking = any(step.action is Action.MARK for step in self.observation.steps)
        return self.memory.disruption.marked_at is not None and is_marking and not self.observation.under_way

    @property
    def plan(self) -> Plan:
        return self.memory.plan(self.observation)

    @cached_property
    def progress(self) -> StepProgress:
        return self.plan.progress(self.observation.requests, self.now)

    @property
    def next_step(self) -> int:
        """The index of the next step; the check may list no step of that index."""
        return self.progress.next_step or 0

    def step_at(self, at: datetime) -> Step | None:
        """The step that would be next at that time."""
        number = self.plan.progress(self.observation.requests, at).next_step
        return None if number is None else self.observation.steps[number]

    @property
    def delay(self) -> HealthyDelay:
        return HealthyDelay.of(self.observation)

    @property
    def proven_at(self) -> datetime | None:
        """When time alone proves the recovery; None: it is proven, or not by time."""
        if not _needs_proof(self.observation, self.memory):
            return None
        at = (self.memory.recovery.healthy_since or self.now) + proof_time(self.observation)
        return at if at > self.now else None

    @property
    def kept_requests(self) -> list[RequestSnapshot]:
        """The requests of a recovered target that stay for the healthyDelay, or until recovery is proven."""
        is_proving = self.proven_at is not None
        there = (request for request in self.observation.requests if not request.is_being_deleted)
        return [request for request in there if is_proving or self.delay.is_running(request, self.now)]

    @property
    def overdue_at(self) -> datetime | None:
        return _overdue_at(self.observation, self.memory)

    @property
    def is_overdue(self) -> bool:
        return self.overdue_at is not None and self.now > self.overdue_at

    @property
    def step_waits_until(self) -> datetime | None:
        """Until when the next step waits for the stop annotations of requests that are over.

        None: they are written.
        """
        return self._stops_awaited_until(self.progress.over)

    @property
    def release_waits_until(self) -> datetime | None:
        """The same for the release of the Lease, which waits for all requests."""
        return self._stops_awaited_until(self.observation.requests)

    def _stops_awaited_until(self, over: Iterable[RequestSnapshot]) -> datetime | None:
        notes = {note.subject: note for note in self.memory.notes if note.task is MaintenanceTask.ANNOTATE}
        unasked = (request for request in over if request.timed_out_at is None and not request.succeeded)
        stops = (TaskSubject.of_annotations(request.uid, [TIMED_OUT]) for request in unasked)
        return max((notes[stop].since + STOP_PATIENCE for stop in stops if stop in notes), default=None)

    @property
    def due_after_loss(self) -> datetime | None:
        return due_after_loss(self.observation, self.memory)

    @cached_property
    def put_off(self) -> Mapping[tuple[MaintenanceTask, TaskSubject], TaskNote]:
        """The maintenance tasks that failed and wait for their next try, although they are due."""
        ahead = still_ahead(self.memory.notes, self.now)
        return {(note.task, note.subject): note for note in ahead}

    @property
    def hanging_requests(self) -> list[RequestReference]:
        """The requests that a finalizer keeps during a clean-up: their deletion did not fail."""
        failed = {note.subject for note in self.memory.notes if note.task is MaintenanceTask.CLEAN_UP}
        requests = self.memory.requests
        return [request for request in requests if TaskSubject.of_request(request.uid) not in failed]


def due_after_loss(observation: Observation, memory: Memory) -> datetime | None:
    """When the next request is due after the loss of the previous one; None: there was no loss."""
    if memory.loss is None or memory.skips_back_off or not observation.back_off_limit_seconds:
        return None
    limit = timedelta(seconds=observation.back_off_limit_seconds)
    return memory.loss.at + delay(memory.attempts_before(observation), limit)


def becomes_overdue_at(observation: Observation, memory: Memory) -> datetime | None:
    """When the remediation is overdue; None: none runs for an unhealthy target."""
    return _overdue_at(with_proof(observation, memory), memory)


def _overdue_at(proven: Observation, memory: Memory) -> datetime | None:
    if not proven.requests or proven.state is not TargetState.EXPIRED:
        return None
    plan, lease = memory.plan(proven), memory.lease
    latest = plan.latest(proven.requests)
    longest = OVERDUE_AFTER * lease.duration
    if lease.acquired_at is None:
        return latest.created + longest
    step = plan.step_of(latest.reference)
    began = lease.acquired_at + (plan.time_before(step) if step else timedelta())
    is_made_under_it = lease.acquired_at == lease.request_acquired_at
    return (max(began, latest.created) if is_made_under_it else began) + longest
