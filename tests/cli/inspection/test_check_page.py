"""The page of `paramedic check`: its unhealthy targets by decision, with the orders of people."""

from datetime import timedelta

import pytest
from rich.console import Console

from cli.inspection.check import CheckView, check_lines
from cli.inspection.explanation import title
from cli.shared.terminal import labelled_lines
from detector.inspection.preview import TargetPreview, as_asked
from health.model.approval import Approval, ApprovalDefault, Progress
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.model.references import IncidentReference
from health.runbook.given_orders import ordered
from health.runbook.orders import AbortOrder, ClaimOrder, HoldOrder, ResumeOrder
from health.runbook.outlook import as_reported, outlook
from health.runbook.state import Memory
from tests.support.values.builders import (
    ESCALATION,
    FIRST,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.decisions import decision
from workflows.inspection_contracts import TargetAnswer

HELD = HoldOrder(reason="replacing its disk", identity="ada@desk")
ABORTED = AbortOrder(reason="power work", identity="bob@desk")
CLAIMED = ClaimOrder(identity="eve@desk")


def incident(name: str) -> IncidentReference:
    target = INCIDENT.target.model_copy(update={"name": name})
    return INCIDENT.model_copy(update={"target": target})


def decided(name: str, *orders: OrderMessage, seen: Observation, is_unheard: bool = False) -> TargetAnswer:
    return decision(seen, *orders, incident=incident(name), is_unheard=is_unheard).answer


def lines(
    *decisions: TargetAnswer, width: int = 200, problem: str | None = None, left_out: int = 0
) -> list[str]:
    view = CheckView(
        check="NodeHealthCheck/workers",
        cluster="main-0a1b",
        leader="detector-1",
        at=NOW,
        problem=problem,
        is_shadow=False,
        selected=9,
        unhealthy=len(decisions),
        decisions=decisions,
        left_out=left_out,
    )
    console = Console(width=width)
    with console.capture() as printed:
        console.print(labelled_lines(check_lines(view)))
    return [line.rstrip() if width < 200 else line.strip() for line in printed.get().splitlines()]


def test_targets_are_counted_as_held_by_a_person_with_reason_person_and_time() -> None:
    found = lines(
        decided("node-1", HELD, seen=seen()),
        decided("node-2", HELD, seen=seen(hold=HOLD)),
        decided("node-3", HoldOrder(identity="eve@desk"), seen=seen()),
        decided("node-4", seen=seen(hold=HOLD)),
    )
    since = "since 2026-03-01 11:59:00Z (1m ago); until resume or its recovery"
    assert found[-6:-1] == [
        "Unhealthy   2 held by a person: Node/node-1, Node/node-2",
        f"replacing its disk; by ada@desk; {since}",
        "1 held by a person: Node/node-3",
        f"by eve@desk; {since}",
        "1 held: Threshold: Node/node-4",
    ]


def test_aborted_target_is_left_alone_and_the_page_says_of_a_later_failure() -> None:
    found = lines(decided("node-1", ABORTED, seen=seen()))
    assert "Unhealthy   1 left alone: Node/node-1" in found
    assert found[-2].startswith("power work; by bob@desk; since 2026-03-01 11:59:00Z (1m ago); until resume")
    assert found[-2].endswith("; a later failure is remediated as usual")


def test_claimed_target_may_act_and_the_page_names_the_person() -> None:
    found = lines(decided("node-1", CLAIMED, seen=seen()))
    assert "Unhealthy   1 may act: Node/node-1" in found
    assert "Claimed     Node/node-1 by eve@desk" in found


def test_running_remediation_under_a_hold_is_counted_apart_with_the_order() -> None:
    running = seen(request_of(FIRST, MINUTE))
    found = lines(decided("node-1", HELD, seen=running), decided("node-2", seen=running))
    assert "Unhealthy   1 remediating: Node/node-2" in found
    assert "1 remediating, and held by a person: Node/node-1" in found
    assert any(line.startswith("replacing its disk; by ada@desk; since ") for line in found)


def test_target_of_an_unheard_incident_is_unknown_and_not_one_that_may_act() -> None:
    assert "Unhealthy   1 unknown: Node/node-1" in lines(decided("node-1", seen=seen(), is_unheard=True))


def test_number_of_targets_that_the_answer_leaves_out_follows_the_others() -> None:
    assert "3 more" in lines(decided("node-1", seen=seen()), left_out=3)


def test_title_of_a_decision_has_a_hold_only_where_it_decides() -> None:
    hold, back_off = HOLD, Hold(reason=HoldReason.BACK_OFF, message="in 2m")
    running = seen(request_of(FIRST, MINUTE), hold=hold)
    waiting = seen(state=TargetState.WAITING, hold=hold)
    assert title(decided("node-1", seen=seen(hold=hold))) == "held: Threshold"
    assert title(decided("node-1", seen=waiting)) == "waits, then held: Threshold"
    assert title(decided("node-1", seen=running)) == "remediating"
    assert title(decided("node-1", ResumeOrder(), seen=seen(hold=back_off))) == "may act"


def test_order_ends_at_its_time() -> None:
    hours = HoldOrder(for_seconds=timedelta(hours=2).total_seconds())
    (line,) = [line for line in lines(decided("node-1", hours, seen=seen())) if "since" in line]
    assert line.endswith("ends in 1h59m (2026-03-01 13:59:00Z)")


def test_words_of_an_order_stay_beside_its_targets_in_a_narrow_terminal() -> None:
    found = lines(decided("node-1", HELD, seen=seen()), width=60)
    after = found[found.index("Unhealthy   1 held by a person: Node/node-1") + 1 : -1]
    assert len(after) > 1
    assert all(line.startswith(" " * 14) for line in after)


def test_page_of_an_invalid_check_begins_with_its_error_and_counts_nothing() -> None:
    found = lines(problem="paramedic.dev/max-in-flight: must be a number (found 'many')")
    assert found[1].startswith(
        "Invalid   paramedic.dev/max-in-flight: must be a number (found 'many'); nothing"
    )
    assert not any(line.startswith(("Targets", "Threshold", "Check held")) for line in found)


def test_requests_are_named_with_their_state_and_a_skipped_one_did_not_time_out() -> None:
    request = request_of(FIRST, MINUTE).model_copy(update={"timed_out_at": NOW})
    progress = Progress(skipped=(request.uid,))
    skipped = TargetPreview(
        incident=INCIDENT,
        observation=seen(request),
        outlook=outlook(seen(request), as_reported(progress), NOW),
    )
    assert lines(skipped.answer)[-1].endswith(f"1: {request.reference} was skipped")
    assert lines()[-1].endswith("none")


QUESTION = Approval(
    step=FIRST,
    names=("reboot",),
    asked_at=NOW - MINUTE,
    expires_at=NOW + MINUTE,
    default=ApprovalDefault.HOLD,
)


@pytest.mark.parametrize(
    ("approval", "orders", "words"),
    [
        (QUESTION, (), "waits for approval until 2026-03-01T12:01:00Z (then it stays held): reboot"),
        (
            QUESTION.model_copy(update={"is_expired": True}),
            (HELD,),
            "waits for approval (expired at 2026-03-01T12:01:00Z): reboot",
        ),
        (QUESTION, (HELD,), "waits for approval: reboot"),
    ],
    ids=["open", "expired", "does not expire under a hold"],
)
def test_question_is_shown_as_the_incident_knows_it(
    approval: Approval, orders: tuple[OrderMessage, ...], words: str
) -> None:
    memory = Memory(approval=approval)
    for order in orders:
        memory = ordered(memory, order, NOW)
    asked = Hold(reason=HoldReason.APPROVAL_REQUIRED, message="waits for approval until 11:00")
    assert as_asked(asked, memory).message == f"{words}, asked at 2026-03-01T11:59:00Z"
    assert as_asked(HOLD, memory) == HOLD


def test_exhausted_target_that_a_person_holds_has_no_next_step() -> None:
    tried = seen(*with_steps_tried(*ESCALATION))
    assert title(decided("node-1", HELD, seen=tried)) == "exhausted, and held by a person"
