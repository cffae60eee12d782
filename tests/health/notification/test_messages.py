"""Notifications as receivers get them: in the markup of Slack, and as JSON."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.notification import Notification, NotificationEvent
from health.notification.messages import LATE, MOST_LISTED, Summary, document, slack
from tests.support.values.builders import INCIDENT, NOW, incident_reference
from tests.support.values.notifications import notification

HOSTILE = "<!channel> & <https://evil.example|click> `@here`\n*x*"


def test_question_in_slack_says_what_since_when_until_when_and_what_to_type() -> None:
    assert slack(notification(), NOW) == {
        "text": "\n".join(
            (
                "*A person has to decide: Node/node-1 waits for the approval of RebootTemplate/reboot*",
                "Check NodeHealthCheck/workers, cluster main-0a1b, unhealthy since 2026-03-01T11:55:00Z",
                "Ready is Unknown",
                "Next at 2026-03-01T12:30:00Z: the question for an approval expires",
                "`paramedic approve workers/node-1`",
                f"Workflow `{INCIDENT.workflow_id}`",
            )
        ),
        "unfurl_links": False,
        "unfurl_media": False,
    }


def test_texts_of_others_have_no_effect_in_slack() -> None:
    hostile = {"title": HOSTILE, "reason": HOSTILE, "waits_for": HOSTILE, "commands": (HOSTILE,)}
    text = slack(notification(**hostile), NOW)["text"]
    assert "<" not in text
    assert ">" not in text
    assert "&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt; '@\u200bhere' *x*" in text
    assert text.count("`") == 4
    assert len(text.splitlines()) == 6


@given(st.lists(st.text(max_size=3000), min_size=4, max_size=4))
def test_messages_are_bounded_whatever_the_texts_are(texts: list[str]) -> None:
    title, reason, waits_for, command = texts
    one = Notification.model_validate(
        notification().model_dump()
        | {"title": title, "reason": reason, "waits_for": waits_for, "commands": (command,)}
    )
    many = Summary([one] * 600)
    for message in (one, many):
        assert len(slack(message, NOW)["text"]) < 40_000
        assert len(json.dumps(document(message, NOW))) < 400_000


def test_question_as_json_has_every_documented_field() -> None:
    assert document(notification(), NOW) == {
        "version": 1,
        "kind": "Notification",
        "id": "n1",
        "event": "ApprovalRequired",
        "asks_a_person": True,
        "cluster": "main-0a1b",
        "check": "NodeHealthCheck/workers",
        "target": "Node/node-1",
        "target_uid": INCIDENT.target.uid,
        "workflow_id": INCIDENT.workflow_id,
        "at": "2026-03-01T12:00:00Z",
        "failed_since": "2026-03-01T11:55:00Z",
        "title": "Node/node-1 waits for the approval of RebootTemplate/reboot",
        "reason": "Ready is Unknown",
        "waits_for": "the question for an approval expires",
        "waits_until": "2026-03-01T12:30:00Z",
        "commands": ["paramedic approve workers/node-1"],
        "sent_at": "2026-03-01T12:00:00Z",
    }


def test_message_that_had_to_wait_says_so_in_slack() -> None:
    in_time, late = slack(notification(), NOW + LATE), slack(notification(), NOW + 2 * LATE)
    assert "out of date" not in in_time["text"]
    assert late["text"].splitlines()[1] == (
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
    assert slack(summary, NOW)["text"].splitlines() == [
        "*A person has to decide: 9 more notifications*",
        "• 1 ApprovalRequired by NodeHealthCheck/workers, cluster main-0a1b: Node/node-1",
        "• 1 ApprovalRequired by NodeHealthCheck/workers, cluster other-cluster: Node/node-1",
        (
            "• 7 Remediated by NodeHealthCheck/workers, cluster main-0a1b: "
            "Node/node-1, Node/node-1, Node/node-1, Node/node-1, Node/node-1 and 2 more"
        ),
        "`paramedic list` shows all open incidents.",
    ]
    found = document(summary, NOW)
    assert [(one["event"], one["count"]) for one in found["groups"]] == [
        ("ApprovalRequired", 1),
        ("ApprovalRequired", 1),
        ("Remediated", 7),
    ]
    assert (found["kind"], found["count"], found["since"]) == ("Summary", 9, "2026-03-01T12:00:00Z")
    assert [one["id"] for one in found["notifications"]] == [*(f"e{n}" for n in range(7)), "n1", "n2"]


def test_summary_of_very_many_lists_only_the_first() -> None:
    found: dict[str, Any] = document(Summary([ended(number) for number in range(MOST_LISTED + 1)]), NOW)
    assert (found["count"], len(found["notifications"])) == (MOST_LISTED + 1, MOST_LISTED)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_summary_of_the_same_notifications_has_the_same_id(order: tuple[int, int]) -> None:
    assert Summary([ended(number) for number in order]).id == Summary([ended(0), ended(1)]).id
    assert Summary([ended(0)]).id != Summary([ended(1)]).id
