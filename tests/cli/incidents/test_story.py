"""Orders in the history of a workflow: the user, the duration, the step, and the reason."""

from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.contrib.pydantic import pydantic_data_converter

from cli.incidents.story import Episode, story, with_refusals
from health.model.observation import Hold, HoldReason, Observation
from health.model.order import OrderRecord
from health.model.references import RequestReference
from health.runbook.orders import AbortOrder, HoldOrder, ResumeOrder
from objects.frozen import Frozen
from tests.support.values.builders import INCIDENT, MINUTE, NOW
from tests.support.values.observations import expired
from workflows.contracts import CLEAN_UP, OBSERVE, RENEW, CleanUpInput, ObserveInput
from workflows.messages import RemediationInput

CONVERTER = pydantic_data_converter.payload_converter
ENCRYPTED = Payload(metadata={"encoding": b"binary/encrypted"}, data=b"x")


def event(**fields: Any) -> HistoryEvent:
    found = HistoryEvent(**fields)
    found.event_time.FromDatetime(NOW)
    return found


def by_update(name: str, *sent: Payload, identity: str = "ada@desk") -> HistoryEvent:
    found = event(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
    request = found.workflow_execution_update_accepted_event_attributes.accepted_request
    request.meta.identity, request.input.name = identity, name
    request.input.args.payloads.extend(sent)
    return found


def by_signal(name: str, *sent: Payload, identity: str = "ada@desk") -> HistoryEvent:
    found = event(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
    signal = found.workflow_execution_signaled_event_attributes
    signal.identity, signal.signal_name = identity, name
    signal.input.payloads.extend(sent)
    return found


def told(given: HistoryEvent) -> str:
    (episode,) = story([given], CONVERTER)
    return f"{episode.what}: {episode.words}"


def payload(value: object) -> Payload:
    (found,) = CONVERTER.to_payloads([value])
    return found


@pytest.mark.parametrize("ordered", [by_update, by_signal])
@pytest.mark.parametrize(
    ("name", "sent", "expected"),
    [
        (
            "hold",
            HoldOrder(reason="disk swap", for_seconds=1200),
            "hold: ordered by ada@desk, for 20m: disk swap",
        ),
        (
            "abort",
            AbortOrder(reason="sold"),
            "abort: ordered by ada@desk, until resume or its recovery: sold",
        ),
        ("abort", AbortOrder(), "abort: ordered by ada@desk, until resume or its recovery"),
        ("resume", ResumeOrder(reason="it is back"), "resume: ordered by ada@desk: it is back"),
        ("resume", ResumeOrder(step="slow2"), "resume: ordered by ada@desk, step slow2"),
        ("hold", {"for_seconds": 3600}, "hold: ordered by ada@desk, for 1h"),
        (
            "hold",
            {"reason": "x", "unknown": 1, "order_id": "1"},
            "hold: ordered by ada@desk, until resume or its recovery: x",
        ),
        ("hold", None, "hold: ordered by ada@desk, until resume or its recovery"),
    ],
)
def test_order_is_shown_with_its_arguments(ordered: Any, name: str, sent: object, expected: str) -> None:
    assert told(ordered(name, payload(sent))) == expected


@pytest.mark.parametrize("ordered", [by_update, by_signal])
def test_order_without_arguments_or_with_undecodable_ones_is_shown(ordered: Any) -> None:
    assert told(ordered("resume")) == "resume: ordered by ada@desk"
    assert told(ordered("hold", ENCRYPTED)) == "hold: ordered by ada@desk"


@pytest.mark.parametrize("ordered", [by_update, by_signal])
def test_order_by_annotation_is_shown_with_its_object_and_not_with_the_worker(ordered: Any) -> None:
    sender = "kubectl annotation on Node/node-4 (manager kubectl-annotate)"
    sent = payload(HoldOrder(identity=sender))
    expected = f"hold: ordered by {sender}, until resume or its recovery"
    assert told(ordered("hold", sent, identity="worker-of-lab")) == expected


@pytest.mark.parametrize("ordered", [by_update, by_signal])
def test_identity_cannot_draw_on_the_terminal(ordered: Any) -> None:
    given = ordered("resume", identity="eve\x1b[2J\nPhase  Ended")
    assert told(given) == "resume: ordered by eve [2J Phase  Ended"


def test_other_signals_are_no_orders() -> None:
    assert story([by_signal("wake")], CONVERTER) == []


def test_order_that_was_sent_again_as_a_signal_with_its_id_is_one_with_any_events_between() -> None:
    given = []
    for number, name in enumerate(("hold", "skip")):
        sent = payload({"step": "reboot", "order_id": str(number)})
        given += [by_update(name, sent), by_signal(name, sent)]
    given = [given[0], given[2], given[1], given[3]]
    assert [(entry.what, entry.times) for entry in story(given, CONVERTER)] == [("hold", 1), ("skip", 1)]
    by_hand = payload(HoldOrder(reason="disk swap"))
    (entry,) = story([by_signal("hold", by_hand), by_signal("hold", by_hand)], CONVERTER)
    assert entry.times == 2


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ((payload([1, 2]),), "must be a mapping (found [1, 2])"),
        ((payload("words"),), "must be a mapping (found 'words')"),
        ((payload({}), payload({})), "takes one JSON value (found 2 values)"),
        ((payload({"for_seconds": "soon"}),), "for_seconds: must be a number (found 'soon')"),
        (
            (payload({"for_second": 600}),),
            "it has no field 'for_second'; the fields are for_seconds, identity, reason",
        ),
        ((payload({"reason": ["\x1b[2J"]}),), 'reason: must be text (found ["\\u001b[2J"])'),
        ((Payload(metadata={"encoding": b"gzip"}, data=b"x"),), "its values cannot be decoded"),
        ((Payload(metadata={"encoding": b"json/plain"}, data=b"["),), "its values cannot be decoded"),
    ],
)
def test_signal_that_is_no_order_is_dropped(sent: tuple[Payload, ...], why: str) -> None:
    """By the rule of the incident, which drops the same signals."""
    assert told(by_signal("hold", *sent)) == f"hold: dropped: {why}; sent by ada@desk"


def test_renewal_of_a_lease_comes_not_between_two_rests_that_are_the_same() -> None:
    timer = event(event_type=EventType.EVENT_TYPE_TIMER_STARTED)
    timer.user_metadata.summary.CopyFrom(payload("HealthyDelay: it is healthy"))
    renewal = event(event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    renewal.activity_task_scheduled_event_attributes.activity_type.name = RENEW.name
    told_ = [(entry.what, entry.times) for entry in story([timer, renewal, timer], CONVERTER)]
    assert told_ == [("HealthyDelay", 2)]


def asked(number: int, name: str, value: Frozen, summary: str = "") -> HistoryEvent:
    found = event(event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, event_id=number)
    attributes = found.activity_task_scheduled_event_attributes
    attributes.activity_type.name = name
    attributes.input.payloads.append(payload(value))
    found.user_metadata.summary.CopyFrom(payload(summary))
    return found


def answered(question: int, answer: Observation) -> HistoryEvent:
    found = event(event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
    found.activity_task_completed_event_attributes.scheduled_event_id = question
    found.activity_task_completed_event_attributes.result.payloads.append(payload(answer))
    return found


def waits(summary: str) -> HistoryEvent:
    found = event(event_type=EventType.EVENT_TYPE_TIMER_STARTED)
    found.user_metadata.summary.CopyFrom(payload(summary))
    return found


HOLD = Hold(reason=HoldReason.THRESHOLD, message="3 of 6 targets are unhealthy, and at most 2 may be")
QUESTION = Hold(
    reason=HoldReason.APPROVAL_REQUIRED,
    message="waits for approval until 12:30:00Z (then it stays held): reboot",
)
UNHEALTHY = expired().model_copy(update={"reason": "Ready is False since noon, longer than 5m"})
WHY = "Node/node-1: Ready is False since noon, longer than 5m"


@pytest.mark.parametrize(
    ("answer", "summary", "expected"),
    [
        (UNHEALTHY, "Waiting: Ready is False; until 12:00:00Z", f"Waiting: {WHY}"),
        (UNHEALTHY.held_by(HOLD), "Held: Threshold: 3 of 6 targets are unheal…", f"Held: {HOLD}; {WHY}"),
        (UNHEALTHY.held_by(QUESTION), "Held: waits for approval until 12:30:0…", f"Held: {QUESTION}; {WHY}"),
        (
            UNHEALTHY.held_by(HOLD),
            "Held: held by a person: disk",
            f"Held: held by a person: disk; {WHY}",
        ),
        (
            UNHEALTHY,
            "Remediating: Reboot/ns/node-1 exists; until 12:00:00Z",
            f"Remediating: Reboot/ns/node-1 exists; {WHY}",
        ),
    ],
)
def test_wait_has_the_hold_and_the_reason_of_the_answer_before_it_in_full(
    answer: Observation, summary: str, expected: str
) -> None:
    question = asked(5, OBSERVE.name, ObserveInput(incident=INCIDENT))
    (episode,) = story([question, answered(5, answer), waits(summary)], CONVERTER)
    assert f"{episode.what}: {episode.words}" == expected


def test_wait_before_any_question_has_the_reason_of_the_start() -> None:
    started = event(event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    start = RemediationInput(incident=INCIDENT, observation=UNHEALTHY)
    started.workflow_execution_started_event_attributes.input.payloads.append(payload(start))
    _, episode = story([started, waits("Waiting: Ready is False")], CONVERTER)
    assert episode.words == WHY


def test_answers_of_other_activities_and_unreadable_ones_change_no_words() -> None:
    question = asked(5, OBSERVE.name, ObserveInput(incident=INCIDENT))
    unreadable = answered(5, UNHEALTHY)
    unreadable.activity_task_completed_event_attributes.result.payloads[0].CopyFrom(ENCRYPTED)
    events = [question, answered(4, UNHEALTHY), unreadable, waits("Held: Threshold: not…")]
    (episode,) = story(events, CONVERTER)
    assert episode.words == "Threshold: not…"


def test_clean_up_names_each_request_and_an_unreadable_one_has_its_summary() -> None:
    requests = tuple(
        RequestReference(api_version="x/v1", kind="Reboot", namespace="ns", name=name, uid=name)
        for name in ("a", "b")
    )
    cleaning = asked(7, CLEAN_UP.name, CleanUpInput(incident=INCIDENT, requests=requests), "delete …")
    assert told(cleaning) == "CleaningUp: delete Reboot/ns/a, delete Reboot/ns/b"
    cleaning.activity_task_scheduled_event_attributes.input.payloads[0].CopyFrom(ENCRYPTED)
    assert told(cleaning) == "CleaningUp: delete …"


def test_refusal_that_an_answer_decided_stands_in_the_story_at_its_time() -> None:
    episodes = [
        Episode(when=NOW, what="started", words=""),
        Episode(when=NOW + MINUTE, what="ended", words=""),
    ]
    skipped = OrderRecord(order="skip", given=NOW, reason="", step="reset")
    refused = skipped.model_copy(update={"refused": "no step runs", "decided": NOW + MINUTE / 2})
    before = refused.model_copy(update={"decided": NOW - MINUTE})  # of an earlier run
    found = with_refusals(episodes, [skipped, before, refused])
    assert [f"{entry.what}: {entry.words}" for entry in found] == [
        "started: ",
        "skip: refused, step reset: no step runs",
        "ended: ",
    ]
