"""Renders one incident for people: timers, requests by step, retries, and its history."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from rich.table import Table
from rich.text import Text

from cli.incidents.next_steps import PossibleOrders, kubectl_lines, orders_without_state
from cli.incidents.order_lines import order_lines
from cli.incidents.summary import IncidentSummary
from cli.shared.ages import ago, beside_time, in_time
from cli.shared.terminal import phase_text
from health.model.details import beside
from health.model.moves import Phase
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.model.request_snapshot import RequestSnapshot
from health.runbook.by_order import REMEDIATE
from health.runbook.escalation import Plan
from health.runbook.recovery import words
from kube.held_lease import written_duration
from workflows.messages import State

SHOWN = 12
"""The number of latest episodes that are shown."""

WITHOUT_ANSWER = "when a worker answers: see `paramedic doctor`; Temporal keeps orders until then"


@dataclass(frozen=True, kw_only=True)
class RequestCourse:
    """The course of one request, by the check as the detector observed it last."""

    request: RequestSnapshot
    step: int | None
    """Counted from 1; None if unknown, or if the check no longer lists the template."""
    steps: int | None
    """The number of steps; None if unknown, for example when the target is healthy again."""
    times_out_at: datetime | None
    """When its step times out, or did; None for a step without a timeout."""
    is_skipped: bool = False
    """True if an order ended its step."""

    @classmethod
    def of(cls, request: RequestSnapshot, state: State) -> Self:
        """The course of one request of an incident."""
        plan = Plan(state.observation.steps if state.observation else ())
        step = plan.step_of(request.reference)
        number = None if step is None else list(plan.steps).index(step) + 1
        is_skipped = request.uid in state.memory.skipped
        return cls(
            request=request,
            step=number,
            steps=len(plan.steps) or None,
            times_out_at=plan.end_of(request),
            is_skipped=is_skipped,
        )

    @property
    def place(self) -> str:
        """The step of the request; "" if unknown."""
        return f"step {self.step} of {self.steps}" if self.step else ""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """An operation that has failed and will be retried."""

    what: str
    """"act", or a maintenance task such as "delete Reboot/ns/node-1"."""
    why: str
    """The latest error."""
    failures: int
    """The number of failures in a row."""
    since: datetime
    """The time of the first failure in the row."""
    next_try: datetime


def retries(state: State) -> Iterator[Retry]:
    """The failed act first, then failed maintenance tasks, ordered by their next try."""
    failing = state.memory.failing
    if failing is not None and state.phase is Phase.HELD:
        yield Retry(
            what="act",
            why=str(failing.hold),
            failures=failing.count,
            since=failing.since,
            next_try=failing.next_act,
        )
    for note in sorted(state.memory.notes, key=lambda note: note.next_try):
        yield Retry(
            what=note.what, why=note.reason, failures=note.failures, since=note.since, next_try=note.next_try
        )


Line = tuple[str, str | Text]


@dataclass(frozen=True, kw_only=True)
class IncidentPage:
    """The data of the page at `now`."""

    summary: IncidentSummary
    ui_link: str
    now: datetime
    name: str
    """The name by which the person asked for it."""
    is_full: bool = False
    """True if the page shows all of the history, and not only its latest entries."""
    command: str = "paramedic"
    """The command with the options that select this Temporal, as they were given."""

    @property
    def orders(self) -> PossibleOrders | None:
        """The orders that the incident can obey; None if its state is unknown."""
        state, cluster = self.summary.state, self.summary.incident.cluster
        return (
            PossibleOrders(state=state, name=self.name, cluster=cluster, now=self.now, command=self.command)
            if state
            else None
        )


def incident_page(page: IncidentPage) -> Table:
    """A table with a label and a value in each row."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _lines(page):
        table.add_row(label, value if isinstance(value, Text) else Text(value))
    return table


def _earlier_remediations(summary: IncidentSummary) -> Iterator[Line]:
    if summary.repetition:
        yield "Repeated", summary.repetition
    if summary.state is not None and summary.state.memory.relapse:
        yield "Relapse", summary.state.memory.relapse


def _lines(page: IncidentPage) -> Iterator[Line]:
    summary, now = page.summary, page.now
    incident, state = summary.incident, summary.state
    yield "Target", f"{incident.target} (uid {incident.target.uid})"
    yield "Check", str(incident.check)
    yield "Cluster", incident.cluster
    yield "Phase", phase_text(summary.phase, is_held=summary.is_held)
    yield "Details", summary.details
    if ordered := [order for order in summary.orders if order.order == REMEDIATE]:
        yield "Ordered", _ordered(ordered[-1], now)
    yield "Started", ago(summary.started, now)
    if summary.closed is not None:
        yield "Ended", ago(summary.closed, now)
    yield from _earlier_remediations(summary)
    if state is not None:
        if state.memory.counted is not None:
            yield "Failure", state.memory.counted.words
        yield from _timers(summary, state, now)
        yield "Goes on", _goes_on(summary, now)
        yield from _retries(state, now)
        yield from _requests(state, now)
        if page.orders is not None:
            yield from _labelled("You can", page.orders.lines)
        yield "Detector", _answer(summary, state.observation, now)
    elif summary.is_open:
        yield "Goes on", WITHOUT_ANSWER
        yield from _labelled("You can", orders_without_state(page.name, incident.cluster, page.command))
    if summary.evidence is not None:
        taken = f", taken {ago(summary.evidence.at, now)}" if summary.evidence.is_saved else ""
        yield "Evidence", f"{summary.evidence.words}{taken}"
    yield from _story(page)
    yield "Workflow", incident.workflow_id
    if page.ui_link:
        yield "Temporal UI", page.ui_link
    yield from _labelled("Kubernetes", kubectl_lines(summary))


def _labelled(label: str, lines: Iterable[str]) -> Iterator[Line]:
    for number, line in enumerate(lines):
        yield "" if number else label, line


def _timers(summary: IncidentSummary, state: State, now: datetime) -> Iterator[Line]:
    memory = state.memory
    yield from order_lines(memory, now)
    if state.observation and (proof := words(state.observation, memory, now)):
        yield "Recovery", proof
    lease = memory.lease
    if lease.may_be_held and lease.renew_at is not None:
        renewed = lease.renew_at - lease.duration / 2  # the next renewal is at half of its time
        end = renewed + written_duration(lease.duration)
        yield "Lease", f"{_lease(summary.phase, lease.renew_at, end, now)}{_released(summary, now)}"


def _lease(phase: Phase | str | None, renew_at: datetime, end: datetime, now: datetime) -> str:
    if phase in (Phase.EXHAUSTED, Phase.CLEANING_UP):
        return f"runs out {in_time(end, now)}" if end > now else f"ran out {ago(end, now)}"
    if renew_at > now:
        return f"is renewed {in_time(renew_at, now)}"
    return f"was to be renewed {ago(renew_at, now)}"  # its renewals fail


def _released(summary: IncidentSummary, now: datetime) -> str:
    end = summary.overdue_at
    return f"; is released {in_time(end, now)}, when the remediation is overdue" if end else ""


def _goes_on(summary: IncidentSummary, now: datetime) -> str:
    transition = summary.next_transition
    if transition is None:
        return "when the detector has answered"
    return transition.what if transition.at is None else f"{in_time(transition.at, now)}: {transition.what}"


def _retries(state: State, now: datetime) -> Iterator[Line]:
    for retry in retries(state):
        row = f"failed {retry.failures} times since" if retry.failures > 1 else "failed"
        when = f"{row} {ago(retry.since, now)}, tried again {in_time(retry.next_try, now)}"
        yield "Retrying", f"{retry.what}: {retry.why}; {when}"


def _requests(state: State, now: datetime) -> Iterator[Line]:
    for request in state.requests:
        yield "Request", f"{state.memory.words_of(request)} ({request.reference.api_version})"
        yield "", _course(RequestCourse.of(request, state), now)
    if not state.requests:
        yield "Request", "none"


def _course(course: RequestCourse, now: datetime) -> str:
    request = course.request
    template = f"template {request.reference.template}" if request.reference.template else ""
    created = f"created {ago(request.created, now)}"
    return ", ".join(part for part in (course.place, template, created, _until(course, now)) if part)


def _until(course: RequestCourse, now: datetime) -> str:
    """When the request times out or did; "" if it has succeeded, failed, or is being deleted."""
    if course.request.timed_out_at is not None:
        ended = "skipped" if course.is_skipped else "timed out"
        return f"{ended} {ago(course.request.timed_out_at, now)}"
    if course.is_skipped:
        return "skipped"
    if course.request.succeeded is not None or course.request.is_being_deleted:
        return ""
    if course.times_out_at is None:
        return "no time limit" if course.step else ""
    return f"times out {in_time(course.times_out_at, now)}"


def _answer(summary: IncidentSummary, observation: Observation | None, now: datetime) -> str:
    if observation is None:
        return "is being asked, and has not answered yet"
    held = None if observation.may_be_admitted else observation.hold
    verdict = f"held: {held}" if held else "admitted" if observation.is_admitted else "no hold"
    reason = beside(str(summary.incident.target), observation.named_reason)
    answer, when = f"{observation.state}: {reason}; {verdict}", observation.answered_at
    return answer if when is None else f"{ago(when, now)}: {beside_time(answer, when)}"


def _story(page: IncidentPage) -> Iterator[Line]:
    timeline = page.summary.timeline
    shown = timeline.entries if page.is_full else timeline.entries[-SHOWN:]
    earlier = len(timeline.entries) - len(shown)
    if earlier or timeline.left_out:
        more = f"; {timeline.left_out} of them are not kept" if timeline.left_out else ""
        yield "History", f"({earlier + timeline.left_out} earlier{', see --full' if earlier else ''}{more})"
    for number, entry in enumerate(shown):
        label = "" if number or earlier or timeline.left_out else "History"
        times = f" (x{entry.times})" if entry.times > 1 else ""
        who = f" by {entry.who}" if entry.who else ""
        words = beside_time(entry.what, entry.at)
        yield label, f"{entry.at:%Y-%m-%d %H:%M:%SZ}  {entry.phase}{times}{who}: {words}"


def _ordered(order: OrderRecord, now: datetime) -> str:
    """The order on the target that began the incident, also once it is over."""
    by = f" by {order.identity}" if order.identity else ""
    forced = " with --force" if order.is_forced else ""
    until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
    return f"{ago(order.given, now)}{by}{forced}{until}: {order.reason}"
