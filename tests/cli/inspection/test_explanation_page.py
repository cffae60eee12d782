"""The decision that `paramedic explain` prints for a target, and the orders beside it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from cli.inspection.explanation import explanation_page
from cli.inspection.explanation_view import ExplanationView, HoldView
from detector.inspection.inspection import Decided
from health.model.observation import HoldReason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
THRESHOLD = HoldView(reason=HoldReason.THRESHOLD, message="3 of 5 unhealthy")
HELD = "held by a person: replacing its disk"
HOLD_LINE = ("Hold", "replacing its disk; by ada@desk; since 2026-03-01 11:59:00Z (1m ago); until resume")
SILENT = "whether a person holds it is unknown: no worker answers"
RESUME = "by resume, or when it recovers"


def lines(**changes: Any) -> dict[str, str]:
    no_leader = changes.pop("no_leader", "")
    view = ExplanationView(
        check="NodeHealthCheck/workers",
        target="Node/node-4",
        uid="u",
        decided=Decided.MAY_ACT,
        message="Ready is Unknown",
        words="",
        state="Expired",
        reason="Ready is Unknown",
        deadline=NOW - timedelta(minutes=1),
        holds=(),
        standing=(),
        order_lines=(),
        approval="",
        goes_on="",
        conditions=(),
        threshold=None,
        limits=(),
        maintenance_windows="none",
        leases=(),
        back_off="off",
        steps=(),
        requests=(),
        is_shadow=False,
        incident="i",
        if_it_failed=None,
    )
    console = Console(width=200)
    with console.capture() as printed:
        console.print(explanation_page(view.model_copy(update=changes), NOW, no_leader))
    found = (line.split("  ", 1) for line in printed.get().splitlines() if not line.startswith(" "))
    return {label.strip(): value.strip() for label, value in found}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "may act now"),
        ({"is_shadow": True}, "may act now; the check is in shadow, so it would only be recorded"),
        ({"decided": Decided.HELD, "holds": (THRESHOLD,)}, "held: Threshold: 3 of 5 unhealthy"),
        ({"decided": Decided.HELD, "message": "back-off"}, "held: back-off"),
        ({"decided": Decided.HELD_BY_PERSON, "words": HELD, "holds": (THRESHOLD,)}, HELD),
        ({"decided": Decided.LEFT_ALONE, "words": "left alone: power work"}, "left alone: power work"),
        ({"decided": Decided.UNKNOWN, "message": SILENT}, f"unknown: {SILENT}"),
        (
            {
                "decided": Decided.WAITS,
                "state": "Waiting",
                "deadline": NOW + timedelta(minutes=5),
                "holds": (THRESHOLD,),
            },
            "waits for 5m, until 12:05:00Z; then held: Threshold: 3 of 5 unhealthy",
        ),
        (
            {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",)},
            "being remediated: Reboot/ns/node-4",
        ),
        (
            {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",), "words": HELD},
            f"being remediated: Reboot/ns/node-4; {HELD}",
        ),
        (
            {"decided": Decided.CLEANING_UP, "requests": ("Reboot/ns/node-4",), "words": "left alone"},
            "cleaning up Reboot/ns/node-4; left alone",
        ),
        ({"decided": Decided.CLEANING_UP}, "healthy, nothing to do"),
    ],
)
def test_decision_is_one_sentence_with_what_decides_first(changes: dict[str, Any], expected: str) -> None:
    assert lines(**changes)["Decision"] == expected


def test_page_shows_the_order_of_a_person_what_ends_it_and_every_other_hold() -> None:
    held = {"decided": Decided.HELD_BY_PERSON, "words": HELD, "holds": (THRESHOLD,)}
    found = lines(**held, order_lines=(HOLD_LINE,), goes_on=RESUME, approval="reboot is approved")
    assert found["Hold"] == HOLD_LINE[1]
    assert found["Goes on"] == RESUME
    assert found["Also held"] == "Threshold: 3 of 5 unhealthy"
    assert found["Approval"] == "reboot is approved"


def test_next_step_is_held_only_in_an_escalation() -> None:
    running = {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",), "holds": (THRESHOLD,)}
    words = "being remediated: Reboot/ns/node-4"
    assert lines(**running, steps=("create Reboot",))["Decision"] == words
    then = f"{words}; a next step would be held: Threshold: 3 of 5 unhealthy"
    assert lines(**running, steps=("create Reboot", "create Replace"))["Decision"] == then


def test_page_shows_no_hold_that_a_resume_passes() -> None:
    assert "Also held" not in lines(decided=Decided.MAY_ACT, holds=(THRESHOLD,))


def test_page_names_the_first_hold_of_a_held_target_once() -> None:
    assert "Also held" not in lines(decided=Decided.HELD, holds=(THRESHOLD,))


def test_page_promises_no_act_while_no_detector_leads() -> None:
    found = lines(no_leader="no detector leads, so nothing is done: there is no Lease a/b")
    assert found["Decision"] == "may act once a detector leads"
    assert found["Detector"] == "no detector leads, so nothing is done: there is no Lease a/b"
