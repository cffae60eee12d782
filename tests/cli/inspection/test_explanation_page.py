"""The decision that `paramedic explain` prints for a target, and the orders beside it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from cli.inspection.connecting import refusals_in
from cli.inspection.explanation import Explanations, explanation_page, explanation_pages
from cli.inspection.explanation_view import ExplanationView, HoldView, goes_on
from detector.inspection.decisions import Decided
from health.model.observation import HoldReason, TargetState
from runtime.paramedic_status import STALE, ParamedicStatusDocument, amended
from runtime.statements import of_refusals
from tests.support.values.builders import FIRST, MINUTE, request_of, seen
from tests.support.values.decisions import decision

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
THRESHOLD = HoldView(reason=HoldReason.THRESHOLD, message="3 of 5 unhealthy")
HELD = "held by a person: replacing its disk"
HOLD_LINE = ("Hold", "replacing its disk; by ada@desk; since 2026-03-01 11:59:00Z (1m ago); until resume")
SILENT = "whether a person holds it is unknown: no worker answers"
RESUME = "by resume, or when it recovers"


def lines(**changes: Any) -> dict[str, str]:
    no_leader, refused = (changes.pop(name, "") for name in ("no_leader", "refused"))
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
        console.print(explanation_page(view.model_copy(update=changes), NOW, no_leader, refused))
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
                "is_held_by_person": True,
            },
            "exhausted: no template left to try, and held by a person",
        ),
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
    words = "being remediated"
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


def test_page_says_which_incidents_temporal_refuses() -> None:
    assert "Temporal" not in lines()
    refused = amended(ParamedicStatusDocument(), [of_refusals(["incident-1: too long"])], "pod-1", NOW)
    assert refused is not None
    words = refusals_in(refused, NOW)
    assert lines(refused=words)["Temporal"] == words
    assert words.endswith("Temporal refuses to start or wake incident-1: too long")
    assert refusals_in(refused, NOW + STALE) == ""
    assert refusals_in(ParamedicStatusDocument(), NOW) == ""


def pages(**changes: Any) -> str:
    nothing = Explanations(cluster="main-0a1b", at=NOW, checks=(), invalid_checks=(), unknown_orders=())
    console = Console(width=200)
    with console.capture() as printed:
        for page in explanation_pages(nothing.model_copy(update=changes), "node-4"):
            console.print(page)
    return printed.get()


def test_nothing_is_done_for_a_target_that_no_check_selects() -> None:
    assert pages() == "no check selects 'node-4', so nothing is done if it fails\n"


def test_invalid_check_that_may_select_the_target_has_a_page_with_its_error() -> None:
    check, invalid, decided = pages(invalid=(("NodeHealthCheck/workers", "spec.a: is missing"),)).splitlines()
    assert check.split() == ["Check", "NodeHealthCheck/workers"]
    assert invalid.split(maxsplit=1)[1].rstrip() == "spec.a: is missing"
    assert "unknown; the check may select it" in decided


def test_remediation_goes_on_at_the_timeout_of_its_step() -> None:
    running = decision(seen(request_of(FIRST, MINUTE)))
    assert goes_on(running, NOW).startswith("in ")
    assert "times out" in goes_on(running, NOW)


def test_end_of_a_wait_is_left_out_where_the_decision_has_it_or_the_incident_is_silent() -> None:
    running = seen(request_of(FIRST, MINUTE))
    assert not goes_on(decision(running, unknown="no worker answers"), NOW)
    assert not goes_on(decision(seen(state=TargetState.WAITING)), NOW)
