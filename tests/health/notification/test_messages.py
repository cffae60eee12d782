"""Notifications as receivers get them, and how many requests a receiver gets."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from health.model.notification import Notification, NotificationEvent
from health.notification import LATE, RequestAllowance, Summary, body_of, title_of
from tests.support.values.builders import INCIDENT, NOW, incident_reference
from tests.support.values.notifications import notification

HOSTILE = "<!channel> & <https://evil.example|click> `@here`\n*x* [a](b)"


def test_question_says_what_since_when_until_when_and_what_to_type() -> None:
    one = notification()
    assert title_of(one) == (
        "A person has to decide: Node/node-1 waits for the approval of RebootTemplate/reboot"
    )
    assert body_of(one, NOW).splitlines() == [
        "Check NodeHealthCheck/workers, cluster main-0a1b, unhealthy since 2026-03-01T11:55:00Z",
        "Ready is Unknown",
        "Next at 2026-03-01T12:30:00Z: the question for an approval expires",
        "paramedic approve workers/node-1",
        f"Workflow {INCIDENT.workflow_id}",
    ]


def test_texts_of_others_are_plain_in_any_markup() -> None:
    hostile = {"title": HOSTILE, "reason": HOSTILE, "waits_for": HOSTILE, "commands": (HOSTILE,)}
    one = notification(**hostile)
    body = body_of(one, NOW)
    assert "(!channel) & (https://evil.example|click) '@\u200bhere' *x* [a]\u200b(b)" in body
    for sign in "<>`":
        assert sign not in title_of(one) + body
    assert len(body.splitlines()) == 5


@given(st.lists(st.text(max_size=3000), min_size=4, max_size=4))
def test_messages_are_bounded_whatever_the_texts_are(texts: list[str]) -> None:
    title, reason, waits_for, command = texts
    one = Notification.model_validate(
        notification().model_dump()
        | {"title": title, "reason": reason, "waits_for": waits_for, "commands": (command,)}
    )
    many = Summary([one] * 600)
    for message in (one, many):
        assert len(title_of(message) + body_of(message, NOW)) < 40_000


def test_message_that_had_to_wait_says_so() -> None:
    assert "out of date" not in body_of(notification(), NOW + LATE)
    assert body_of(notification(), NOW + 2 * LATE).splitlines()[0] == (
        "Late: this happened at 2026-03-01T12:00:00Z, and may be out of date. See `paramedic show`."
    )


def ended(number: int) -> Notification:
    return notification(
        id=f"e{number}",
        event=NotificationEvent.REMEDIATED,
        asks_a_person=False,
        at=NOW + timedelta(seconds=number),
    )


def test_summary_counts_by_event_and_check_and_questions_come_first() -> None:
    other = notification(id="n2", incident=incident_reference("other-cluster"))
    summary = Summary([*map(ended, range(7)), notification(), other])
    assert title_of(summary) == "A person has to decide: 9 more notifications"
    assert body_of(summary, NOW).splitlines() == [
        "• 1 ApprovalRequired by NodeHealthCheck/workers, cluster main-0a1b: Node/node-1",
        "• 1 ApprovalRequired by NodeHealthCheck/workers, cluster other-cluster: Node/node-1",
        (
            "• 7 Remediated by NodeHealthCheck/workers, cluster main-0a1b: "
            "Node/node-1, Node/node-1, Node/node-1, Node/node-1, Node/node-1 and 2 more"
        ),
        "`paramedic list` shows all open incidents.",
    ]


SECOND = timedelta(seconds=1)


@given(st.integers(1, 600), st.lists(st.tuples(st.floats(0, 90), st.integers(0, 60)), max_size=60))
def test_no_minute_has_more_than_twice_the_limit_and_no_notification_is_left(
    most: int, arrivals: list[tuple[float, int]]
) -> None:
    now, waiting, told, sent = timedelta(), 0, 0, list[timedelta]()
    allowance = RequestAllowance.full(most, now)
    for pause, number in [*arrivals, (60.0, 0)]:
        now, waiting = now + pause * SECOND, waiting + number
        allowance = allowance.refilled(most, now)
        while waiting and not allowance.wait(most):
            count = allowance.in_next_request(waiting)
            assert count in (1, waiting)
            waiting, told = waiting - count, told + count
            allowance = allowance.spent()
            sent.append(now)
    assert (waiting, told) == (0, sum(number for _, number in arrivals))
    for begin in sent:
        assert sum(begin <= one < begin + 60 * SECOND for one in sent) <= 2 * most


def test_burst_of_500_is_nine_requests_and_a_summary() -> None:
    allowance, told = RequestAllowance.full(10, timedelta()), list[int]()
    waiting = 500
    while not allowance.wait(10):
        told.append(allowance.in_next_request(waiting))
        waiting -= told[-1]
        allowance = allowance.spent()
    assert told == [1] * 9 + [491]
    assert allowance.wait(10) == timedelta(seconds=6) * (1 - 1e-9)


@given(st.integers(1, 600), st.floats(0, 3600))
def test_wait_is_as_long_as_it_takes_to_refill(most: int, idle: float) -> None:
    allowance = RequestAllowance(0, timedelta()).refilled(most, idle * SECOND)
    ready = allowance.refilled(most, allowance.at + allowance.wait(most) + timedelta(microseconds=1))
    assert not ready.wait(most)
