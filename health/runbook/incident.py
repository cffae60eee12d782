"""Incident: one incident at one moment: its observation, its memory, and what follows from both. Pure.

Proof of recovery and shadow are applied here, when the value is made, so no row of the runbook knows them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from health.gate.back_off import delay
from health.model.observation import ENDED, Observation, TargetState
from health.model.references import Action, RequestReference, Step
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook import shadow
from health.runbook.by_order import expires_at
from health.runbook.escalation import Course, Plan
from health.runbook.recovery import Delay, proven_at, with_proof
from health.runbook.state import Memory
from health.runbook.task_notes import MaintenanceTask, TaskNote, still_ahead

STOP_PATIENCE = timedelta(minutes=1)
"""How long the next step waits for the stop annotation, from the first failure to write it."""


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
        return cls(shadow.as_if(proven, memory), memory, now, shadow.others(observation, memory))

    @property
    def has_ended(self) -> bool:
        """True if the target needs no remediation any more."""
        return self.observation.state in ENDED

    @property
    def is_kept_by_order(self) -> bool:
        """True if a person's order stands for a time: it is also about the next failure of the target."""
        is_healthy = self.observation.state is TargetState.HEALTHY
        return is_healthy and any(order.until for order in self.memory.blocking)

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
    def is_disrupted(self) -> bool:
        """True if a deletion or mark is in progress, so that the incident only waits."""
        return self.memory.disruption.has_deleted or bool(self.observation.under_way) or self.is_mark_unseen

    @property
    def is_in_between(self) -> bool:
        """True for a target that is no longer unhealthy and does not count as healthy yet."""
        if self.memory.left_alone or self.observation.state is not TargetState.HEALTHY:
            return False
        is_uncertain = self.observation.requests and not self.observation.counts_as_healthy
        return self.memory.disruption.has_deleted or bool(is_uncertain)

    @property
    def plan(self) -> Plan:
        return self.memory.plan(self.observation)

    @cached_property
    def course(self) -> Course:
        return self.plan.course(self.observation.requests, self.now)

    @property
    def next_step(self) -> int:
        """The index of the next step; the check may list no step of that index."""
        return self.course.next_step or 0

    @property
    def is_step_recorded(self) -> bool:
        """In shadow: True if the next step is recorded, or a deletion or mark."""
        return shadow.is_over(self.observation.steps[self.next_step], self.memory.shadow)

    def step_at(self, at: datetime) -> Step | None:
        """The step that would be next at that time."""
        number = self.plan.course(self.observation.requests, at).next_step
        return None if number is None else self.observation.steps[number]

    @property
    def delay(self) -> Delay:
        return Delay.of(self.observation)

    @property
    def proven_at(self) -> datetime | None:
        """When time alone proves the recovery; None: it is proven, or not by time."""
        return proven_at(self.observation, self.memory, self.now)

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
        return self._stops_awaited_until(self.course.over)

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

    @property
    def order_expires_at(self) -> datetime | None:
        """When the order that alone makes the target unhealthy expires; None: there is none."""
        return expires_at(self.observation, self.memory)

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
    plan = memory.plan(proven)
    return memory.lease.overdue_at(plan, plan.latest(proven.requests))
