"""The JSON of incidents for `-o json`, in a list and alone; docs/cli-json.md documents the fields."""

from datetime import datetime
from typing import Self

from cli.incidents.next_steps import kubectl_lines
from cli.incidents.page import IncidentPage, RequestCourse, Retry, retries
from cli.incidents.summary import IncidentSummary
from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.model.shadow_record import ShadowRecord
from health.model.timeline import TimelineEntry
from health.model.verdict import CountedFact
from health.runbook.state import Memory
from objects.frozen import Frozen, OpenEnum
from workflows.messages import State


class OrderView(Frozen):
    """An order of a person, with its remaining time if it stands."""

    order: str
    step: str
    reason: str
    identity: str
    given_at: datetime
    is_forced: bool
    is_pending: bool
    refused: str
    until: datetime | None
    remaining_seconds: float | None

    @classmethod
    def of(cls, order: OrderRecord, now: datetime) -> Self:
        remaining = None if order.until is None else max(0.0, (order.until - now).total_seconds())
        return cls(
            order=order.order,
            step=order.step,
            reason=order.reason,
            identity=order.identity,
            given_at=order.given,
            is_forced=order.is_forced,
            is_pending=order.is_pending,
            refused=order.refused,
            until=order.until,
            remaining_seconds=remaining,
        )


class RequestView(Frozen):
    """One remediation request, with its step and the timeout of that."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    template: str
    is_being_deleted: bool
    created_at: datetime
    timed_out_at: datetime | None
    is_skipped: bool
    succeeded: bool | None
    step: int | None
    steps: int | None
    times_out_at: datetime | None

    @classmethod
    def of(cls, course: RequestCourse) -> Self:
        request = course.request
        return cls(
            **request.reference.model_dump(),
            is_being_deleted=request.is_being_deleted,
            created_at=request.created,
            timed_out_at=request.timed_out_at,
            is_skipped=course.is_skipped,
            succeeded=request.succeeded,
            step=course.step,
            steps=course.steps,
            times_out_at=course.times_out_at,
        )


class RetryView(Frozen):
    """An operation that has failed and will be retried."""

    what: str
    why: str
    failures: int
    since: datetime
    next_try_at: datetime
    next_try_in_seconds: float

    @classmethod
    def of(cls, retry: Retry, now: datetime) -> Self:
        return cls(
            what=retry.what,
            why=retry.why,
            failures=retry.failures,
            since=retry.since,
            next_try_at=retry.next_try,
            next_try_in_seconds=max(0.0, (retry.next_try - now).total_seconds()),
        )


class IncidentRunView(Frozen):
    """The run of a workflow, and the incident that it is for."""

    workflow_id: str
    run_id: str
    cluster: str
    check: str
    target: str
    target_uid: str
    status: str


def run_fields(summary: IncidentSummary) -> dict[str, str]:
    incident = summary.incident
    return {
        "workflow_id": incident.workflow_id,
        "run_id": summary.run_id,
        "cluster": incident.cluster,
        "check": str(incident.check),
        "target": str(incident.target),
        "target_uid": incident.target.uid,
        "status": summary.status,
    }


class IncidentView(IncidentRunView):
    """One run of an incident's workflow, as `list` prints it."""

    phase: OpenEnum[Phase] | None
    details: str
    problem: str
    outcome: Outcome | None
    started_at: datetime
    closed_at: datetime | None
    lasted_seconds: float
    goes_on_at: datetime | None
    goes_on_in_seconds: float | None
    goes_on_with: str | None
    standing: tuple[OrderView, ...]
    requests: tuple[RequestView, ...]
    retries: tuple[RetryView, ...] = ()
    shadow: ShadowRecord | None = None
    evidence: EvidenceRecord | None = None
    repetition: str | None = None
    """How often in a row its first step alone was taken, in words; None: seldom."""

    @classmethod
    def of(cls, summary: IncidentSummary, now: datetime) -> Self:
        state, in_time = summary.state, summary.goes_on_in(now)
        transition = summary.next_transition
        memory = state.memory if state else Memory()
        return cls(
            **run_fields(summary),
            phase=summary.phase,
            details=summary.words,
            problem=summary.problem,
            outcome=summary.outcome,
            shadow=summary.shadow,
            evidence=summary.evidence,
            repetition=summary.repetition or None,
            started_at=summary.started,
            closed_at=summary.closed,
            lasted_seconds=summary.lasted(now).total_seconds(),
            goes_on_at=transition.at if transition else None,
            goes_on_in_seconds=None if in_time is None else in_time.total_seconds(),
            goes_on_with=transition.what if transition else None,
            standing=tuple(OrderView.of(order, now) for order in memory.standing),
            requests=_requests(state) if state else (),
            retries=tuple(RetryView.of(retry, now) for retry in retries(state)) if state else (),
        )


def _named(observation: Observation | None) -> Observation | None:
    """The observation with a reason that names its target, to be read alone."""
    return observation and observation.model_copy(update={"subject": "", "reason": observation.named_reason})


def _requests(state: State) -> tuple[RequestView, ...]:
    return tuple(RequestView.of(RequestCourse.of(request, state)) for request in state.requests)


class PageView(IncidentView):
    """The JSON of `paramedic show`: an incident, its observation and history."""

    lease_renewed_at: datetime | None = None
    """If it is in the future: the time of the next renewal."""
    observation: Observation | None = None
    failure: CountedFact | None = None
    """The failure as the detector counts it; None: the target is not known to be unhealthy."""
    history: tuple[TimelineEntry, ...] = ()
    history_left_out: int = 0
    ui_url: str = ""
    kubectl: tuple[str, ...] = ()
    orders: tuple[OrderView, ...] = ()
    """The latest orders that it got: obeyed, refused or pending."""
    possible_orders: tuple[str, ...] = ()
    """Command lines of the orders that the incident can obey now."""

    @classmethod
    def of_page(cls, page: IncidentPage) -> Self:
        state = page.summary.state
        return cls(
            **IncidentView.of(page.summary, page.now).model_dump(),
            lease_renewed_at=state.memory.lease.renew_at if state else None,
            observation=_named(state.observation) if state else None,
            failure=state.memory.counted if state else None,
            history=page.summary.timeline.entries,
            history_left_out=page.summary.timeline.left_out,
            ui_url=page.ui_link,
            kubectl=tuple(kubectl_lines(page.summary)),
            orders=tuple(OrderView.of(order, page.now) for order in page.summary.orders),
            possible_orders=tuple(page.orders.commands) if page.orders else (),
        )
