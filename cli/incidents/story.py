"""Reads the story of an incident from the history of its workflow.

A timer has its phase in its summary, and its reason in the answer before it. A summary is one short line for
the Temporal UI; the answers of the detector and the inputs of the activities have the same in full
(`EpisodeWords`). Orders carry their arguments. Repeated entries (the same hold, asked again) are shown once,
with a count. Renewals of a Lease are left out.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import PayloadCodec, PayloadConverter
from temporalio.service import RPCError, RPCStatusCode

from cli.incidents.sent_orders import UNREADABLE, Dropped, arguments, read_sent
from cli.shared.terminal import plain
from health.model.moves import Phase
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.runbook.orders import ORDERS
from health.runbook.task_notes import deleting
from objects.frozen import Frozen
from objects.short_text import CUT
from objects.timestamps import stamp
from runtime.payload_codec import UnreadablePayload
from workflows.contracts import ACT, CLEAN_UP, OBSERVE, SAVE_EVIDENCE, ActInput, CleanUpInput, EvidenceInput
from workflows.messages import RemediationInput
from workflows.summaries import WaitSummary

_PHASES = {SAVE_EVIDENCE.name: Phase.ACTING, ACT.name: Phase.ACTING, CLEAN_UP.name: Phase.CLEANING_UP}
MOST_RUNS = 100
"""The runs of one incident that are read: a run ends after some thousand events."""
STARTED = "started"
Value = TypeVar("Value", bound=Frozen)
_INPUTS: dict[str, type[ActInput | CleanUpInput | EvidenceInput]] = {
    ACT.name: ActInput,
    CLEAN_UP.name: CleanUpInput,
    SAVE_EVIDENCE.name: EvidenceInput,
}


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One entry of the story, which occurred `times` times in a row."""

    when: datetime
    what: str
    words: str
    times: int = 1
    order_id: str = ""
    """The id of an order: without an answer the command sends the order again, as a signal with this id."""


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
    later = (
        episodes[1:] if episodes and episodes[0].what == STARTED else episodes for episodes in stories[1:]
    )
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
    by_annotation = [
        Episode(when=order.given, what=order.order, words=_of_the_target(order))
        for order in orders
        if order.order not in ORDERS
    ]
    return sorted([*by_annotation, *episodes, *refusals], key=lambda episode: episode.when)


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


class EpisodeWords:
    """The words of the events of one run, which it gets in their order."""

    def __init__(self, decode: PayloadConverter) -> None:
        self._decode = decode
        self._questions: set[int] = set()
        self._latest_answer: Observation | None = None
        """The latest answer of the detector."""

    def take(self, event: HistoryEvent) -> None:
        """Remember the answer of the detector in an event, if it has one."""
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == OBSERVE.name:
            self._questions.add(event.event_id)
        completed = event.activity_task_completed_event_attributes
        if completed.scheduled_event_id in self._questions:
            self._latest_answer = self._read(completed.result.payloads, Observation) or self._latest_answer
        started = event.workflow_execution_started_event_attributes.input.payloads
        if start := self._read(started, RemediationInput):
            self._latest_answer = start.observation

    def of_wait(self, words: str) -> str:
        """The words of a timer, with the hold and the reason of the latest answer in full."""
        if self._latest_answer is None:
            return words
        begin, hold = words.removesuffix(CUT), self._latest_answer.hold
        if begin in self._reason:
            return self._reason
        texts = (str(hold), hold.message) if hold is not None and begin else ()
        is_hold = any(text.startswith(begin) for text in texts)
        return _joined(str(hold) if is_hold else words, self._reason)

    def of_call(self, event: HistoryEvent, summary: str) -> str:
        """The effect of an activity, and the latest reason; `summary` if its input cannot be read."""
        scheduled = event.activity_task_scheduled_event_attributes
        match self._read(scheduled.input.payloads, _INPUTS[scheduled.activity_type.name]):
            case ActInput() as request:
                effect = request.step.order_for(request.incident.target)
            case EvidenceInput() as request:
                effect = f"save evidence before: {request.step.order_for(request.incident.target)}"
            case CleanUpInput() as request if request.requests:
                effect = ", ".join(map(deleting, request.requests))
            case _:
                effect = summary
        return _joined(effect, self._reason)

    @property
    def _reason(self) -> str:
        return self._latest_answer.named_reason if self._latest_answer else ""

    def _read(self, payloads: Sequence[Payload], kind: type[Value]) -> Value | None:
        if not payloads:
            return None
        try:
            found: Value = self._decode.from_payload(payloads[0], kind)
        except UNREADABLE:
            return None
        return found


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def story(events: Iterable[HistoryEvent], decode: PayloadConverter) -> list[Episode]:
    """The episodes of these events, with repetitions merged."""
    words = EpisodeWords(decode)
    episodes = (_episode(event, decode, words) for event in events)
    return together(episode for episode in episodes if episode is not None)


def together(episodes: Iterable[Episode]) -> list[Episode]:
    """The episodes with equal neighbours merged and counted, and each order once."""
    found: list[Episode] = []
    orders: set[tuple[str, str]] = set()
    for episode in episodes:
        order = (episode.what, episode.order_id)
        if episode.order_id and order in orders:
            continue
        orders.add(order)
        if not found or (found[-1].what, found[-1].words) != (episode.what, episode.words):
            found.append(episode)
        else:
            found[-1] = replace(found[-1], times=found[-1].times + 1)
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
    sent = read_sent(ORDERS[name].message, [*signal.input.payloads, *update.input.args.payloads], decode)
    # Neither the identity nor the problem went through the converter, which removes control characters.
    sender = plain(signal.identity or update.meta.identity)
    if isinstance(sent, Dropped):
        return Episode(when=when, what=name, words=f"dropped: {plain(sent)}; sent by {sender}")
    # The worker sends the orders of annotations: the message names the person's object and field manager.
    words = f"ordered by {(sent and sent.identity) or sender}{arguments(sent)}"
    return Episode(when=when, what=name, words=words, order_id=sent.order_id if sent else "")


def _end(event: HistoryEvent, when: datetime) -> Episode | None:
    name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_")
    ends = ("COMPLETED", "TERMINATED", "FAILED", "CANCEL_REQUESTED", "CONTINUED_AS_NEW")
    return Episode(when=when, what=name.lower().replace("_", " "), words="") if name in ends else None
