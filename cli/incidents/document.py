"""IncidentDocument: all that the command knows of one incident at one time. Pure.

`list`, `show`, `history`, `shadow` and the live view make their text of it alone, and its JSON is what
`-o json` prints; docs/cli-json.md has its table of fields.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import PlainSerializer

from cli.incidents.next_steps import PossibleOrder, kubectl_lines, possible_orders
from cli.incidents.visibility import IncidentSummary
from cli.shared.ages import short
from health.model.details import HoldWords, beside
from health.model.evidence import EvidenceRecord
from health.model.incident_result import PhaseTime, RequestRecord, ShadowRecord, TimelineEntry
from health.model.moves import Outcome, Phase
from health.model.observation import HoldReason, Observation
from health.model.order import Blocks, OrderRecord
from health.model.references import CheckReference, TargetReference
from health.model.verdict import CountedFact
from health.runbook.escalation import Plan
from health.runbook.incident import becomes_overdue_at
from health.runbook.orders import CLAIM
from health.runbook.words import recovery_words, words_of
from kube.lease import written_duration
from objects.frozen import Frozen, OpenEnum
from workflows.messages import State


class IncidentRequest(Frozen):
    """A remediation request that exists, with its step by the check as the detector observed it last."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    template: str
    words: str
    """The request and its state."""
    created_at: datetime
    is_being_deleted: bool
    timed_out_at: datetime | None
    is_skipped: bool
    """True if an order ended its step."""
    succeeded: bool | None
    step: int | None
    """Counted from 1; None if unknown, or if the check no longer lists the template."""
    steps: int | None
    """The number of steps; None if unknown, for example when the target is healthy again."""
    times_out_at: datetime | None
    """When its step times out, or did; None for a step without a timeout, or if unknown."""


class Retry(Frozen):
    """An operation that has failed and will be retried."""

    what: str
    """"act", or a maintenance task such as "delete Reboot/ns/node-1"."""
    why: str
    """The latest error."""
    failures: int
    """The number of failures in a row."""
    since: datetime
    """The time of the first failure in the row."""
    next_try_at: datetime


_TEXT = PlainSerializer(str, return_type=str)
"""A reference is its text in JSON: kind/name or kind/namespace/name."""


class IncidentDocument(Frozen):
    """One incident at `at`; a field is None if it is unknown, or if there is none."""

    at: datetime
    workflow_id: str
    run_id: str
    status: str
    cluster: str
    check: Annotated[CheckReference, _TEXT]
    target: Annotated[TargetReference, _TEXT]
    target_uid: str
    started_at: datetime
    """When its first run started, as far as that is known."""
    closed_at: datetime | None
    lasted_seconds: float
    phase: OpenEnum[Phase] | None = None
    outcome: Outcome | None = None
    problem: str | None = None
    """Why phase, outcome or more is unknown."""
    details: str | None = None
    """The reason of its phase in words; after the end, the reason of its outcome."""
    brief: str | None = None
    """The reason beside the name of the target, with its distinguishing part first; None after the end."""
    holds: tuple[HoldWords, ...] | None = None
    """The holds of its next step, by a person or the detector; the first one decides."""
    goes_on_at: datetime | None = None
    goes_on_with: str | None = None
    """The event at that time; without a time, the change or order that it waits for."""
    failure: CountedFact | None = None
    repetition: str | None = None
    relapse: str | None = None
    recovery: str | None = None
    lease_renewed_at: datetime | None = None
    """When it renews its Lease; a past time means that the renewals fail."""
    lease_expires_at: datetime | None = None
    lease_released_at: datetime | None = None
    """When the remediation is overdue, so that it releases its Lease."""
    standing: tuple[OrderRecord, ...] | None = None
    orders: tuple[OrderRecord, ...] | None = None
    possible_orders: tuple[PossibleOrder, ...] = ()
    requests: tuple[IncidentRequest, ...] | None = None
    request_records: tuple[RequestRecord, ...] | None = None
    retries: tuple[Retry, ...] | None = None
    attempts: int | None = None
    deleted_at: datetime | None = None
    observation: Observation | None = None
    shadow: ShadowRecord | None = None
    evidence: EvidenceRecord | None = None
    phases: tuple[PhaseTime, ...] | None = None
    history: tuple[TimelineEntry, ...] | None = None
    history_left_out: int | None = None
    ui_url: str | None = None
    kubectl: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def short_name(self) -> str:
        """The names of check and target, as a person types them."""
        return f"{self.check.name}/{self.target.name}"

    @property
    def is_held(self) -> bool:
        """True while an order `hold` of a person stands."""
        return any(order.blocks == Blocks.STEPS for order in self.standing or ())

    @property
    def claim(self) -> OrderRecord | None:
        return next((order for order in self.standing or () if order.order == CLAIM.name), None)

    @property
    def held_since(self) -> datetime | None:
        return self.holds[0].since if self.holds else None

    @property
    def stopped(self) -> str | None:
        """The global stop that holds it, in words."""
        hold = self.observation.hold if self.observation else None
        return hold.words.full if hold is not None and hold.reason is HoldReason.STOPPED else None

    @property
    def words(self) -> str:
        """Why it is in its phase or unknown, or how it ended, for a place that shows the target."""
        if self.problem is not None:
            return f"unknown: {self.problem}"
        if self.is_open:
            return beside(str(self.target), self.details or "")
        ended = f"{self.outcome or self.status} after {short(timedelta(seconds=self.lasted_seconds))}"
        return f"{ended}: {self.details}" if self.outcome and self.details else ended


def incident_document(
    summary: IncidentSummary,
    now: datetime,
    *,
    name: str | None = None,
    command: str = "paramedic",
    ui_url: str | None = None,
) -> IncidentDocument:
    """The document of an incident after its query, whether a worker answered or not.

    `command` and `name` begin the command lines that it proposes: the command with the options that select
    this Temporal, and the incident as the person called it.
    """
    incident, state, result = summary.incident, summary.state, summary.result
    memory = state.memory if state else None
    known = result or memory  # some fields have the same name in both
    observation = state.observation if state else None
    transition = state.next_transition if state else None
    started = (result.started if result else memory.began if memory else None) or summary.started
    until = summary.closed or now
    nothing = () if result else None  # after the end, nothing stands, exists or is retried
    renewed_at, expires_at, released_at = _lease_times(state)
    return IncidentDocument(
        at=now,
        workflow_id=incident.workflow_id,
        run_id=summary.run_id,
        status=summary.status,
        cluster=incident.cluster,
        check=incident.check,
        target=incident.target,
        target_uid=incident.target.uid,
        started_at=started,
        closed_at=summary.closed,
        lasted_seconds=(until - started).total_seconds(),
        phase=Phase.ENDED if summary.closed else state.phase if state else None,
        outcome=summary.outcome,
        problem=summary.problem,
        details=result.reason if result else state.why.lasting if state else None,
        brief=state.why.brief if state and summary.is_open else None,
        holds=state.why.holds if state and summary.is_open else nothing,
        goes_on_at=transition.at if transition else None,
        goes_on_with=transition.what if transition else None,
        failure=memory.counted if memory else None,
        repetition=summary.repetition,
        relapse=memory.relapse if memory else None,
        recovery=recovery_words(observation, memory, now) if observation and memory else None,
        lease_renewed_at=renewed_at,
        lease_expires_at=expires_at,
        lease_released_at=released_at,
        standing=memory.standing if memory else nothing,
        orders=known.orders if known else None,
        possible_orders=tuple(possible_orders(summary, now, command, name)),
        requests=tuple(_requests(state)) if state else nothing,
        request_records=result.requests if result else memory.records if memory else None,
        retries=tuple(_retries(state)) if state else nothing,
        attempts=result.attempts if result else memory.attempt if memory else None,
        deleted_at=result.deleted if result else None,
        # A reader of the JSON reads the reason alone, so it names the target.
        observation=observation
        and observation.model_copy(update={"subject": "", "reason": observation.named_reason}),
        shadow=result.shadow if result else memory.shadow if memory and memory.has_been_in_shadow else None,
        evidence=known.evidence if known else None,
        phases=known.timeline.phases(until) if known else None,
        history=known.timeline.entries if known else None,
        history_left_out=known.timeline.left_out if known else None,
        ui_url=ui_url,
        kubectl=tuple(kubectl_lines(summary)),
    )


def _lease_times(state: State | None) -> tuple[datetime | None, datetime | None, datetime | None]:
    """When the incident renews its Lease, when that expires, and when an overdue incident releases it."""
    if state is None or not state.memory.lease.may_be_held:
        return None, None, None
    lease, expires_at, released_at = state.memory.lease, None, None
    if lease.renew_at:  # the next renewal is at half of its time
        expires_at = lease.renew_at - lease.duration / 2 + written_duration(lease.duration)
    if state.observation:
        observation = state.observation.model_copy(update={"requests": state.requests})
        released_at = becomes_overdue_at(observation, state.memory)
    return lease.renew_at, expires_at, released_at


def _requests(state: State) -> Iterator[IncidentRequest]:
    plan = Plan(state.observation.steps if state.observation else ())
    for request in state.requests:
        step = plan.step_of(request.reference)
        yield IncidentRequest(
            **request.reference.model_dump(),
            words=words_of(request, state.memory),
            created_at=request.created,
            is_being_deleted=request.is_being_deleted,
            timed_out_at=request.timed_out_at,
            is_skipped=request.uid in state.memory.skipped,
            succeeded=request.succeeded,
            step=None if step is None else list(plan.steps).index(step) + 1,
            steps=len(plan.steps) or None,
            times_out_at=plan.end_of(request),
        )


def _retries(state: State) -> Iterator[Retry]:
    """The failed act first, then failed maintenance tasks, ordered by their next try."""
    failing = state.memory.failing
    if failing is not None and state.phase is Phase.HELD:
        yield Retry(
            what="act",
            why=str(failing.hold),
            failures=failing.count,
            since=failing.since,
            next_try_at=failing.next_act,
        )
    for note in sorted(state.memory.notes, key=lambda note: note.next_try):
        yield Retry(
            what=note.what,
            why=note.reason,
            failures=note.failures,
            since=note.since,
            next_try_at=note.next_try,
        )
