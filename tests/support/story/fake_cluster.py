"""A cluster with one node, its detector and its worker, played by a script.

It implements the contracts of the activities by name and records everything that happens, in order and with
the time of the workflow's own clock. tests/workflows/violations.py has the rules for any such log.
"""

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity

from health.gate.admission import answered
from health.gate.approval_hold import approval_hold
from health.model.admission import Admission
from health.model.approval import Progress
from health.model.evidence import EvidenceRecord, evidence_name
from health.model.observation import Hold, Observation, TargetState
from health.model.references import Action, RequestReference
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_LEASE, TaskSubject
from health.runbook.escalation import Plan
from health.runbook.failures import TaskFailure, patched
from health.runbook.incident import STOP_PATIENCE
from tests.support.values.observations import expired, healthy
from workflows.contracts import (
    ACT,
    ANNOTATE,
    CLEAN_UP,
    OBSERVE,
    RENEW,
    SAVE_EVIDENCE,
    ActInput,
    ActResult,
    AnnotateInput,
    AnnotateResult,
    CleanUpInput,
    CleanUpResult,
    EvidenceInput,
    EvidenceResult,
    ObserveInput,
    RenewInput,
    RenewResult,
)


@dataclass(frozen=True)
class Entry:
    event: str
    when: datetime
    is_admitted: bool = False
    template: str = ""


class Gate:
    """Keeps an activity in flight for as long as a test wants."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.entered = asyncio.Event()

    def close(self) -> None:
        self._open.clear()
        self.entered.clear()

    def open(self) -> None:
        self._open.set()

    async def pass_through(self) -> None:
        self.entered.set()
        await self._open.wait()


def _held_for_approval(seen: Observation, progress: Progress, now: datetime) -> Observation:
    """The observation of a detector that knows this progress of the incident."""
    if seen.approval is None or seen.hold is not None or seen.state is not TargetState.EXPIRED:
        return seen
    due = Plan(seen.steps, progress.spent, progress.skipped).progress(seen.requests, now).due_step
    hold = approval_hold(seen.approval, seen.steps, due, progress.approval)
    return seen.held_by(hold) if hold else seen


class FakeCluster:
    """The script and the log of one incident."""

    def __init__(self, clock: Callable[[], Awaitable[datetime]]) -> None:
        self._clock = clock
        """The workflow's own time, which a test moves."""
        self.observation = expired()
        self.refusals: deque[Hold] = deque()
        """The answers of the next acts, which then do nothing."""
        self.failing: Counter[str] = Counter()
        """How many of the next attempts of an activity fail: an act and an answer raise, a task tells."""
        self.retry_after = timedelta()
        """How long the API server wants to be left alone then."""
        self.is_forbidding = False
        """True if a failure is then a 403."""
        self.lateness: deque[timedelta] = deque()
        """How old the next answers are when they arrive."""
        self.wakings = 0
        """How often a test woke the incident in a row, as fast as it answered."""
        self.has_finalizer = False
        self.undeletable: set[str] = set()
        """The templates of the requests that cannot be deleted now."""
        self._unannotated: dict[str, datetime] = {}
        """Since when it fails to annotate these."""
        self.requests: dict[str, RequestSnapshot] = {}
        self._numbers = itertools.count(1)
        self.leased_since: datetime | None = None
        """Since when the check holds the Lease of the node."""
        self.log: list[Entry] = []
        self.questions: list[ObserveInput] = []
        self.acts: list[ActInput] = []
        """Acts that came to their end."""
        self.attempts: list[ActInput] = []
        self.clean_ups: list[CleanUpInput] = []
        self.annotated: list[tuple[str, dict[str, str | None]]] = []
        """The template of each request that was annotated, and the annotations."""
        self.gates = {
            contract.name: Gate() for contract in (OBSERVE, SAVE_EVIDENCE, ACT, CLEAN_UP, RENEW, ANNOTATE)
        }

    @property
    def found(self) -> list[Hold | None]:
        """The finding that came with each question of the incident."""
        return [question.found for question in self.questions]

    def times(self, event: str) -> list[datetime]:
        return [entry.when for entry in self.log if entry.event == event]

    def count(self, event: str) -> int:
        return len(self.times(event))

    @property
    def is_leased(self) -> bool:
        return self.leased_since is not None

    @property
    def tried(self) -> list[str]:
        """The templates of the created requests, in order."""
        return [entry.template for entry in self.log if entry.event == "created"]

    def note(self, event: str, when: datetime, *, is_admitted: bool = False, template: str = "") -> None:
        self.log.append(Entry(event, when, is_admitted, template))

    def put_request(self, created: datetime | None = None, template: str = "") -> RequestSnapshot:
        """A request of the incident, as an earlier run of it or the NodeHealthCheck operator left it."""
        uid = f"request-{next(self._numbers)}"
        reference = RequestReference(
            api_version="example.com/v1",
            kind="Reboot",
            namespace="ns",
            name="node-1",
            uid=uid,
            template=template,
        )
        self.requests[uid] = request = RequestSnapshot(
            reference=reference, created=created or datetime.now(UTC), boot_id=self.observation.boot_id
        )
        self.leased_since = self.leased_since or request.created
        return request

    def request_of(self, template: str) -> RequestSnapshot:
        return next(request for request in self.requests.values() if request.reference.template == template)

    def report(self, template: str, **fields: object) -> None:
        """Set the result that the remediator of a template reports."""
        request = self.request_of(template)
        self.requests[request.uid] = request.model_copy(update=fields)

    async def lose_requests(self) -> None:
        when = await self._clock()
        for request in self.requests.values():
            self.note("deleted", when, template=request.reference.template)
        self.requests.clear()

    def answer(self) -> Observation:
        shown = {"requests": tuple(self.requests.values()), "lease_acquired_at": self.leased_since}
        return self.observation.model_copy(update=shown)

    @property
    def detector(self) -> list[Callable[..., Any]]:
        return [self.observe]

    @property
    def worker(self) -> list[Callable[..., Any]]:
        return [self.save_evidence, self.act, self.clean_up, self.renew, self.annotate]

    @activity.defn(name=OBSERVE.name)
    async def observe(self, question: ObserveInput) -> Observation:
        self.questions.append(question)
        answer = self.answer()  # the observation of now, however long the answer is in flight
        when = await self._begin(OBSERVE.name)
        answer = answered(_held_for_approval(answer, question.progress, when), question.intent, Admission)
        self.note("answered", when, is_admitted=answer.is_admitted)
        late = self.lateness.popleft() if self.lateness else timedelta()
        seen_at = activity.info().started_time - late
        return answer.model_copy(update={"answered_at": seen_at, "seen_at": seen_at})

    @activity.defn(name=SAVE_EVIDENCE.name)
    async def save_evidence(self, evidence: EvidenceInput) -> EvidenceResult:
        when = await self._begin(SAVE_EVIDENCE.name)
        if self._fails(SAVE_EVIDENCE.name):
            raise ConnectionError("the API server is away")
        if self.refusals:
            return EvidenceResult(hold=self.refusals.popleft())
        name = evidence_name(evidence.incident, evidence.first_run_id)
        return EvidenceResult(record=EvidenceRecord(namespace="ns", name=name, at=when))

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        self.attempts.append(act)
        when = await self._begin(ACT.name)
        self.acts.append(act)
        self._note_unapproved(act, when)
        if self.refusals:
            self.leased_since = self.leased_since if act.holds_lease else None
            return ActResult.held(self.refusals.popleft())
        if act.step.action is not Action.REQUEST:
            self.note(f"{act.step.action} of the target", when)
            self.leased_since = self.leased_since or when
            return ActResult.disrupted(self.leased_since)
        name = act.step.template.name
        for request in self.requests.values():
            if request.reference.template in ("", name):
                return ActResult.requested(request)
        if any(known.uid not in act.settled for known in act.known):
            return ActResult.lost()
        if any(self._is_at_work(other, when) for other in self.requests.values()):
            self.note("too early", when, template=name)
        request = self.put_request(when, name)
        self.note("created", when, template=name)
        return ActResult.requested(request, self.leased_since)

    def _note_unapproved(self, act: ActInput, when: datetime) -> None:
        required, steps = self.observation.approval, self.observation.steps
        needing = [steps[number] for number in required.steps] if required else []
        if act.step in needing and not act.is_approved:
            self.note("unapproved", when)

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, clean_up: CleanUpInput) -> CleanUpResult:
        when = await self._begin(CLEAN_UP.name)
        self.clean_ups.append(clean_up)
        if self._fails(CLEAN_UP.name):
            left = [self._not_deleted(request) for request in clean_up.requests]
            failures = tuple(left) or (self._failure(OF_LEASE, "give back the Lease"),)
            return CleanUpResult(failures=failures, has_lease=True)
        there = [request for request in clean_up.requests if request.uid in self.requests]
        kept = [request for request in there if request.template in self.undeletable]
        going = tuple(request for request in there if request not in kept)
        for request in going:
            self._delete(request, when)
        if kept or (going and self.has_finalizer):
            failures = tuple(self._not_deleted(request) for request in kept)
            return CleanUpResult(
                remaining=going if self.has_finalizer else (), failures=failures, has_lease=True
            )
        self.leased_since = None
        if clean_up.order is not None and clean_up.order == self.observation.order:
            self.observation = healthy()
        return CleanUpResult()

    @activity.defn(name=RENEW.name)
    async def renew(self, renewal: RenewInput) -> RenewResult:  # noqa: ARG002  there is but one incident
        when = await self._begin(RENEW.name)
        if self._fails(RENEW.name):
            return RenewResult(failures=(self._failure(OF_LEASE, "renew the Lease"),))
        self.note("renewed", when)
        return RenewResult(acquired_at=self.leased_since)

    @activity.defn(name=ANNOTATE.name)
    async def annotate(self, annotation: AnnotateInput) -> AnnotateResult:
        when = await self._begin(ANNOTATE.name)
        if self._fails(ANNOTATE.name):
            for patch in annotation.patches:
                self._unannotated.setdefault(patch.request.uid, when)
            failures = [
                self._failure(patch.subject, f"annotate {patch.request}") for patch in annotation.patches
            ]
            return AnnotateResult(failures=tuple(failures))
        self.annotated += [(patch.request.template, patch.annotations) for patch in annotation.patches]
        changed = patched(self.requests.values(), annotation.patches)
        self.requests = {request.uid: request for request in changed}
        return AnnotateResult()

    def _is_at_work(self, request: RequestSnapshot, when: datetime) -> bool:
        """True if its remediator may be at work: it was not stopped, or not for long enough."""
        is_reported = request.timed_out_at is not None or request.succeeded
        return (
            not is_reported
            and when < self._unannotated.get(request.uid, when + STOP_PATIENCE) + STOP_PATIENCE
        )

    def _fails(self, name: str) -> bool:
        fails = self.failing[name] > 0
        self.failing[name] -= fails
        return fails

    def _not_deleted(self, request: RequestReference) -> TaskFailure:
        return self._failure(TaskSubject.of_request(request.uid), f"delete {request}")

    def _failure(self, subject: TaskSubject, what: str) -> TaskFailure:
        return TaskFailure(
            subject=subject,
            what=what,
            why="403" if self.is_forbidding else "the API server is away",
            is_refused=self.is_forbidding,
            wait_seconds=self.retry_after.total_seconds(),
        )

    def remove_finalizer(self) -> None:
        """Remove the finalizer, and with it the deleted requests, as in a real cluster."""
        self.has_finalizer = False
        for uid, request in list(self.requests.items()):
            if request.is_being_deleted:
                self.note("deleted", self.log[-1].when, template=request.reference.template)
                del self.requests[uid]

    def _delete(self, request: RequestReference, when: datetime) -> None:
        if self.has_finalizer:
            deleted = self.requests[request.uid].model_copy(update={"is_being_deleted": True})
            self.requests[request.uid] = deleted
        else:
            del self.requests[request.uid]
            self.note("deleted", when, template=request.template)

    async def _begin(self, name: str) -> datetime:
        when = activity.info().started_time
        self.note(name, when)
        await self.gates[name].pass_through()
        if name in (ACT.name, OBSERVE.name) and self._fails(name):
            raise ConnectionError("the API server is away")
        return when
