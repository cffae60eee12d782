"""Reads the story of an incident, and the failure of its workflow task, from the workflow's history.

A timer has its phase in its summary, and its reason in the answer before it (`EpisodeWords`). Orders carry
their arguments. Repeated entries (the same hold, asked again) are shown once, with a count. Renewals of a
Lease are left out.

An exception in workflow code fails the workflow task. Temporal records the first of consecutive failed
attempts, and another one after each new event. So a failure after the last completed task still goes on,
until a worker with other code takes over.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.errordetails.v1 import WorkflowNotReadyFailure
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec, PayloadConverter
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.episode_words import UNREADABLE, EpisodeWords
from cli.shared.terminal import plain
from health.model.moves import Phase
from health.model.order import OrderMessage, OrderRecord, StandingOrder, StepOrder
from health.runbook.orders import ORDERS
from objects.durations import in_words
from objects.timestamps import stamp
from runtime.payload_codec import UnreadablePayload
from workflows.contracts import ACT, CLEAN_UP, SAVE_EVIDENCE
from workflows.wait_summary import WaitSummary

_PHASES = {SAVE_EVIDENCE.name: Phase.ACTING, ACT.name: Phase.ACTING, CLEAN_UP.name: Phase.CLEANING_UP}
MOST_RUNS = 100
"""The runs of one incident that are read: a run ends after some thousand events."""
STARTED = "started"
LATEST_EVENTS = 100
"""The newest events that are searched: consecutive failures take few, as most attempts are not recorded."""
LONGEST_WORDS = 300
"""The longest error of a failed task that is shown, in characters."""
_BY_THE_SERVER = {
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_PAUSE_REQUESTED_BEFORE_TASK_STARTED,
}
"""Failures that the workflow code did not cause; the server tries the task again at once."""


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One entry of the story, which occurred `times` times in a row."""

    when: datetime
    what: str
    words: str
    times: int = 1
    by_signal: bool = False
    """Whether it is an order sent as a signal, which needs no answer."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """The episodes of an incident over all its runs."""

    episodes: tuple[Episode, ...]
    lacks_beginning: bool = False
    """True if Temporal has removed the first runs, or there are more than `MOST_RUNS`."""


async def read_story(client: Client, workflow_id: str, run_id: str) -> Story:
    """The story of an incident that ended, or lasts, with this run.

    Raises:
        RPCError: Temporal cannot be asked about this run.

    """
    events = await _events(client, workflow_id, run_id)
    stories = [story(events, client.data_converter.payload_converter)]
    while (earlier := _continued(events)) and len(stories) < MOST_RUNS:
        try:
            events = await _events(client, workflow_id, earlier)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            break
        stories.insert(0, story(events, client.data_converter.payload_converter))
    later = (one[1:] if one and one[0].what == STARTED else one for one in stories[1:])
    return Story(
        episodes=tuple(together(chain(stories[0], *later))),
        lacks_beginning=bool(_continued(events)),
    )


async def _events(client: Client, workflow_id: str, run_id: str) -> list[HistoryEvent]:
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    codec = client.data_converter.payload_codec
    return [await _decrypted(event, codec) async for event in handle.fetch_history_events()]


def _continued(events: Sequence[HistoryEvent]) -> str:
    """The run that this one continues; "" for the first run."""
    return events[0].workflow_execution_started_event_attributes.continued_execution_run_id if events else ""


def with_refusals(episodes: Sequence[Episode], orders: Iterable[OrderRecord]) -> list[Episode]:
    """The episodes, with the refusals and orders that no event has: an answer of the detector had them."""
    refusals = [
        Episode(
            when=order.decided,
            what=order.order,
            words=f"refused{f', step {order.step}' if order.step else ''}: {order.refused}",
        )
        for order in orders
        if order.decided and order.refused and episodes and order.decided >= episodes[0].when
    ]
    given = [
        Episode(when=order.given, what=order.order, words=_of_the_target(order))
        for order in orders
        if order.order not in ORDERS
    ]
    return sorted([*given, *episodes, *refusals], key=lambda one: one.when)


def _of_the_target(order: OrderRecord) -> str:
    """An order that no message gave: it is an annotation of the target."""
    by = f" by {order.identity}" if order.identity else ""
    until = f", until {stamp(order.until)}" if order.until else ""
    return f"ordered{by}{' with --force' if order.is_forced else ''}{until}: {order.reason}"


async def _decrypted(event: HistoryEvent, codec: PayloadCodec | None) -> HistoryEvent:
    """The event with the payloads that a story needs decrypted, if the keys are available."""
    if codec is None:
        return event
    update = event.workflow_execution_update_accepted_event_attributes.accepted_request
    for payloads in (
        [event.user_metadata.summary] if event.user_metadata.HasField("summary") else [],
        event.workflow_execution_signaled_event_attributes.input.payloads,
        update.input.args.payloads,
        event.workflow_execution_started_event_attributes.input.payloads,
        event.activity_task_scheduled_event_attributes.input.payloads,
        event.activity_task_completed_event_attributes.result.payloads,
    ):
        for payload in payloads:
            with suppress(UnreadablePayload):
                payload.CopyFrom((await codec.decode([payload]))[0])
    return event


def story(events: Iterable[HistoryEvent], decode: PayloadConverter) -> list[Episode]:
    """The episodes of these events, with repetitions merged."""
    words = EpisodeWords(decode)
    episodes = (_episode(event, decode, words) for event in events)
    return together(episode for episode in episodes if episode is not None)


def together(episodes: Iterable[Episode]) -> list[Episode]:
    """The episodes with equal neighbours merged and counted."""
    found: list[Episode] = []
    for episode in episodes:
        if not found or (found[-1].what, found[-1].words) != (episode.what, episode.words):
            found.append(episode)
        elif found[-1].by_signal or not episode.by_signal:
            found[-1] = replace(found[-1], times=found[-1].times + 1)
        # Otherwise it is one order: if no worker answers an update, the command also sends a signal.
    return found


def _episode(event: HistoryEvent, decode: PayloadConverter, words: EpisodeWords) -> Episode | None:
    words.take(event)
    when, summary = event.event_time.ToDatetime(tzinfo=UTC), _summary(event, decode)
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            return Episode(when=when, what=STARTED, words="")
        case EventType.EVENT_TYPE_TIMER_STARTED:
            waited = WaitSummary.parsed(summary)
            waiting = words.of_wait(waited.words)
            return Episode(when=when, what=waited.phase, words=waiting) if summary else None
        case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            if name not in _PHASES:
                return None
            return Episode(when=when, what=_PHASES[name], words=words.of_call(event, summary))
        case _:
            return _order(event, when, decode) or _end(event, when)


def _summary(event: HistoryEvent, decode: PayloadConverter) -> str:
    if not event.user_metadata.HasField("summary"):
        return ""
    try:
        return str(decode.from_payload(event.user_metadata.summary, str))
    except UNREADABLE:
        return ""


def _order(event: HistoryEvent, when: datetime, decode: PayloadConverter) -> Episode | None:
    signal = event.workflow_execution_signaled_event_attributes
    update = event.workflow_execution_update_accepted_event_attributes.accepted_request
    name = signal.signal_name or update.input.name
    if name not in ORDERS:
        return None
    sent = decoded(ORDERS[name].message, [*signal.input.payloads, *update.input.args.payloads], decode)
    # The identity is not a payload, so the converter has not removed control characters from it.
    words = f"ordered by {plain(signal.identity or update.meta.identity)}{_arguments(sent)}"
    return Episode(when=when, what=name, words=words, by_signal=bool(signal.signal_name))


def decoded(
    kind: type[OrderMessage], payloads: Sequence[Payload], decode: PayloadConverter
) -> OrderMessage | None:
    """The order in these payloads, with defaults if there are none; None if it cannot be read."""
    if not payloads:
        return kind()
    try:
        sent: OrderMessage | None = decode.from_payload(payloads[0], kind)
    except UNREADABLE:
        return None
    return sent or kind()


def _arguments(order: OrderMessage | None) -> str:
    """The order's duration, step and reason, as far as they were given."""
    if order is None:
        return ""
    lasts = _lasts(order.for_seconds) if isinstance(order, StandingOrder) else ""
    step = f", step {order.step}" if isinstance(order, StepOrder) and order.step else ""
    reason = f": {order.reason}" if order.reason else ""
    return f"{lasts}{step}{reason}"


def _lasts(seconds: float | None) -> str:
    return ", until resume" if seconds is None else f", for {in_words(timedelta(seconds=seconds))}"


def _end(event: HistoryEvent, when: datetime) -> Episode | None:
    name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_")
    ends = ("COMPLETED", "TERMINATED", "FAILED", "CANCEL_REQUESTED", "CONTINUED_AS_NEW")
    return Episode(when=when, what=name.lower().replace("_", " "), words="") if name in ends else None


@dataclass(frozen=True)
class WorkflowTaskFailure:
    """A workflow task that keeps failing, and its latest error."""

    since: datetime
    what: str
    """The exception, on one line."""

    def __str__(self) -> str:
        return f"its code fails since {self.since:%Y-%m-%d %H:%M:%SZ}: {self.what}"


async def read_task_failure(
    client: Client, workflow_id: str, run_id: str, rpc_timeout: timedelta
) -> WorkflowTaskFailure | None:
    """The current task failure of one run; None if its task does not fail.

    Raises:
        RPCError: Temporal cannot be asked.

    """
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
        maximum_page_size=LATEST_EVENTS,
    )
    answer = await client.workflow_service.get_workflow_execution_history_reverse(
        request, timeout=rpc_timeout
    )
    for failed in _in_a_row(answer.history.events):
        await _decrypt(failed.workflow_task_failed_event_attributes.failure, client.data_converter)
        break
    return task_failure(answer.history.events)


async def _decrypt(failure: Failure, converter: DataConverter) -> None:
    """Decrypt the messages of a failure in place; without the key, the message says so."""
    try:
        await converter.decode_failure(failure)  # changes `failure` and its causes
    except UnreadablePayload as error:
        failure.message = str(error)


def is_of_a_failing_task(error: RPCError) -> bool:
    """True if Temporal refused a query or update because the workflow task keeps failing."""
    details = error.grpc_status.details if error.grpc_status else ()
    return any(detail.Is(WorkflowNotReadyFailure.DESCRIPTOR) for detail in details)


def task_failure(newest_first: Sequence[HistoryEvent]) -> WorkflowTaskFailure | None:
    """The task failure that the newest events of a run show."""
    failed = list(_in_a_row(newest_first))
    if not failed:
        return None
    latest, first = failed[0], failed[-1]
    what = _words(latest.workflow_task_failed_event_attributes.failure)
    return WorkflowTaskFailure(since=first.event_time.ToDatetime(UTC), what=what)


def _in_a_row(newest_first: Sequence[HistoryEvent]) -> Iterator[HistoryEvent]:
    for event in newest_first:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return
        is_failure = event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        if is_failure and event.workflow_task_failed_event_attributes.cause not in _BY_THE_SERVER:
            yield event


def _words(failure: Failure) -> str:
    chain = [failure]
    while chain[-1].HasField("cause"):
        chain.append(chain[-1].cause)
    words = "; caused by ".join(_exception(one) for one in chain)
    return words if len(words) <= LONGEST_WORDS else f"{words[: LONGEST_WORDS - 1]}…"


def _exception(failure: Failure) -> str:
    kind = failure.application_failure_info.type
    message = " ".join(plain(failure.message).split())
    return ": ".join(part for part in (kind, message) if part)
