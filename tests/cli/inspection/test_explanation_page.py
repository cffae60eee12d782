"""The decision that `paramedic explain` prints for a target, and the orders beside it."""

from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from cli.inspection.explanation import explanation_lines, explanation_pages
from cli.shared.terminal import labelled_lines
from health.model.observation import Hold, HoldReason
from health.model.order import OrderRecord
from tests.support.values.builders import NOW
from workflows.inspection_contracts import (
    Decided,
    ExplainAnswer,
    ExplanationAnswer,
    InvalidCheckAnswer,
    TargetAnswer,
)

THRESHOLD = Hold(reason=HoldReason.THRESHOLD, message="3 of 5 unhealthy")
HELD = "held by a person: replacing its disk"
ORDER = OrderRecord(
    order="hold", reason="replacing its disk", identity="ada@desk", given=NOW - timedelta(minutes=1)
)
UNHEARD = "its incident has not asked this leader yet"
DECIDED = ("decided", "message", "requests", "ordered")


def lines(**changes: Any) -> dict[str, str]:
    of_target = {name: changes.pop(name) for name in DECIDED if name in changes}
    decision = {
        "target": "Node/node-4",
        "decided": Decided.MAY_ACT,
        "message": "Ready is Unknown",
    } | of_target
    view = ExplanationAnswer(
        check="NodeHealthCheck/workers",
        uid="u",
        incident="i",
        decision=TargetAnswer.model_validate(decision),
        state="Expired",
        reason="Ready is Unknown",
        deadline=NOW - timedelta(minutes=1),
        maintenance_windows="none",
        back_off="off",
    )
    console = Console(width=200)
    with console.capture() as printed:
        console.print(labelled_lines(explanation_lines(view.model_copy(update=changes), NOW)))
    found = (line.split("  ", 1) for line in printed.get().splitlines() if not line.startswith(" "))
    return {label.strip(): value.strip() for label, value in found}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "may act now"),
        ({"is_shadow": True}, "may act now; the check is in shadow, so it would only be recorded"),
        ({"decided": Decided.HELD, "holds": (THRESHOLD,)}, "held: Threshold: 3 of 5 unhealthy"),
        (
            {"decided": Decided.HELD, "holds": (THRESHOLD.began_at(NOW - timedelta(minutes=2)),)},
            "held: Threshold: 3 of 5 unhealthy; since 2026-03-01 11:58:00Z (2m ago)",
        ),
        ({"decided": Decided.HELD, "message": "back-off"}, "held: back-off"),
        ({"decided": Decided.HELD_BY_PERSON, "words": HELD, "holds": (THRESHOLD,)}, HELD),
        ({"decided": Decided.LEFT_ALONE, "words": "left alone: power work"}, "left alone: power work"),
        ({"decided": Decided.UNKNOWN, "message": UNHEARD}, f"unknown: {UNHEARD}"),
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
            "being remediated",
        ),
        (
            {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",), "words": HELD},
            f"being remediated; {HELD}",
        ),
        (
            {"decided": Decided.CLEANING_UP, "requests": ("Reboot/ns/node-4",), "words": "left alone"},
            "cleaning up its requests; left alone",
        ),
        ({"decided": Decided.CLEANING_UP}, "healthy, nothing to do"),
        (
            {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",), "begun": NOW},
            "being remediated since 2026-03-01 12:00:00Z (0s ago)",
        ),
        (
            {"decided": Decided.EXHAUSTED, "words": "no template left to try"},
            "exhausted: no template left to try",
        ),
        (
            {
                "decided": Decided.EXHAUSTED,
                "words": f"{HELD}; no template left to try",
                "ordered": ORDER,
            },
            "exhausted: no template left to try, and held by a person",
        ),
    ],
)
def test_decision_is_one_sentence_with_what_decides_first(changes: dict[str, Any], expected: str) -> None:
    assert lines(**changes)["Decision"] == expected


def test_page_shows_the_order_of_a_person_what_ends_it_and_every_other_hold() -> None:
    held = {"decided": Decided.HELD_BY_PERSON, "words": HELD, "holds": (THRESHOLD,)}
    ends = {"goes_on": "the hold ends", "goes_on_at": NOW + timedelta(minutes=5)}
    found = lines(**held, **ends, standing=(ORDER,), approval="reboot is approved")
    assert found["Hold"].startswith(
        "replacing its disk; by ada@desk; since 2026-03-01 11:59:00Z (1m ago); until"
    )
    assert found["Goes on"] == "in 5m (2026-03-01 12:05:00Z): the hold ends"
    assert found["Also held"] == "Threshold: 3 of 5 unhealthy"
    assert found["Approval"] == "reboot is approved"


def test_next_step_is_held_only_in_an_escalation() -> None:
    running = {"decided": Decided.REMEDIATING, "requests": ("Reboot/ns/node-4",), "holds": (THRESHOLD,)}
    words = "being remediated"
    assert lines(**running, steps=("create Reboot",))["Decision"] == words
    then = f"{words}; a next step would be held: Threshold: 3 of 5 unhealthy"
    assert lines(**running, steps=("create Reboot", "create Replace"))["Decision"] == then


def test_page_shows_no_hold_that_a_resume_passes() -> None:
    assert "Also held" not in lines(decided=Decided.MAY_ACT, holds=(THRESHOLD,))


def test_page_names_the_first_hold_of_a_held_target_once() -> None:
    assert "Also held" not in lines(decided=Decided.HELD, holds=(THRESHOLD,))


def pages(**changes: Any) -> str:
    nothing = ExplainAnswer(cluster="main-0a1b", leader="detector-1", at=NOW, checks=())
    console = Console(width=200)
    with console.capture() as printed:
        for each in explanation_pages(nothing.model_copy(update=changes)):
            console.print(labelled_lines(each))
    return printed.get()


def test_invalid_check_that_may_select_the_target_has_a_page_with_its_error() -> None:
    invalid = InvalidCheckAnswer(check="NodeHealthCheck/workers", problem="spec.a: is missing")
    check, problem, decided = pages(invalid_checks=(invalid,)).splitlines()
    assert check.split() == ["Check", "NodeHealthCheck/workers"]
    assert problem.split(maxsplit=1)[1].rstrip() == "spec.a: is missing"
    assert "unknown; the check may select it" in decided
    assert pages() == ""
