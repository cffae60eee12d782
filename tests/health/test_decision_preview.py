"""The preview: the decision of the runbook, with the orders of people, as commands print it."""

from datetime import timedelta
from typing import Any

import pytest

from health.model.approval import Approval, ApprovalAnswer, RequiredApproval
from health.model.moves import NextEvent, NextTransition, Phase
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move, preview
from health.runbook.orders import AbortOrder, ClaimOrder, HoldOrder, ResumeOrder, ordered
from health.runbook.state import Memory
from tests.support.values import remediation_orders as remediation
from tests.support.values.builders import FIRST, HOLD, MINUTE, NOW, REBOOT, fact, request_of, seen
from tests.support.values.memories import ACTED, move

HELD = HoldOrder(reason="replacing its disk", identity="ada@desk")
ABORTED = AbortOrder(reason="power work", identity="bob@desk")
BACK_OFF = Hold(reason=HoldReason.BACK_OFF, message="in 2m")
RUNNING = request_of(FIRST, MINUTE)


def unasked(*requests: RequestSnapshot, **fields: Any) -> Observation:
    """The observation of a detector that was not asked to act, and so admits nothing."""
    return seen(*requests, **fields).model_copy(update={"admission": None})


def given(*orders: OrderMessage) -> Memory:
    memory = Memory()
    for order in orders:
        memory = ordered(memory, order, NOW - MINUTE)
    return memory


@pytest.mark.parametrize(
    ("observation", "memory", "phase", "order"),
    [
        (unasked(), given(), Phase.ACTING, None),
        (unasked(), given(ClaimOrder()), Phase.ACTING, None),
        (unasked(), given(HELD), Phase.HELD, "hold"),
        (unasked(hold=HOLD), given(HELD), Phase.HELD, "hold"),
        (unasked(hold=HOLD), given(), Phase.HELD, None),
        (unasked(state=TargetState.WAITING), given(HELD), Phase.HELD, "hold"),
        (unasked(state=TargetState.WAITING), given(), Phase.WAITING, None),
        (unasked(), given(HoldOrder(for_seconds=30)), Phase.ACTING, None),
        (unasked(), given(HELD, ResumeOrder()), Phase.ACTING, None),
        (unasked(), given(ABORTED), Phase.LEFT_ALONE, "abort"),
        (unasked(), given(HELD, ABORTED), Phase.LEFT_ALONE, "abort"),
        (unasked(RUNNING), given(ABORTED), Phase.CLEANING_UP, "abort"),
        (unasked(RUNNING), given(HELD), Phase.REMEDIATING, None),
        (unasked(RUNNING), given(), Phase.REMEDIATING, None),
        (unasked(state=TargetState.HEALTHY), given(ABORTED), Phase.ENDED, None),
    ],
)
def test_orders_of_people_decide_as_in_the_workflow(
    observation: Observation, memory: Memory, phase: Phase, order: str | None
) -> None:
    found = preview(observation, memory, NOW)
    assert found.phase is phase
    assert (found.order and found.order.order) == order


def test_an_order_is_named_in_the_words_of_the_workflow() -> None:
    held, aborted = preview(unasked(), given(HELD), NOW), preview(unasked(), given(ABORTED), NOW)
    assert (held.words, aborted.words) == ("held by a person: replacing its disk", "left alone: power work")
    move = next_move(unasked(), given(HELD), NOW)
    assert held.words == move.details.differing


def test_a_later_incident_of_an_aborted_target_is_bound_by_no_order() -> None:
    assert preview(unasked(), Memory(), NOW).phase is Phase.ACTING


def test_hold_that_decides_is_that_of_the_detector_or_of_the_failed_act() -> None:
    assert preview(unasked(hold=HOLD), given(), NOW).hold == HOLD
    assert preview(unasked(hold=HOLD), given(HELD), NOW).hold is None
    failed = Hold(reason=HoldReason.FAILED, message="the attempt to act failed: 503")
    failing = Memory().after_failed_act(failed, unasked(), NOW, 0.5, is_forbidden=False)
    assert preview(unasked(), failing, NOW).hold == failed


def test_resume_skips_the_back_off_that_the_detector_sees() -> None:
    backing_off = unasked(hold=BACK_OFF)
    assert preview(backing_off, given(), NOW).phase is Phase.HELD
    assert preview(backing_off, given(ResumeOrder()), NOW).phase is Phase.ACTING


@pytest.mark.parametrize("answer", [None, *ApprovalAnswer])
def test_step_waits_for_an_approval_and_is_taken_after_it(answer: ApprovalAnswer | None) -> None:
    approval = Approval(step=FIRST, names=(REBOOT.name,), asked_at=NOW, fact=fact())
    if answer is not None:
        approval = approval.answered(answer, "by ada@desk", NOW)
    needs_one = unasked(approval=RequiredApproval(steps=(0, 1, 2)))
    found = preview(needs_one, Memory(approval=approval), NOW + timedelta(seconds=1))
    assert (found.phase is Phase.ACTING) is (answer is ApprovalAnswer.APPROVED)


def test_wait_for_a_person_names_what_ends_it_also_before_the_question() -> None:
    needs_one = unasked(approval=RequiredApproval(steps=(0, 1, 2)))
    waits = {
        "by resume, or when it recovers": preview(unasked(), given(ABORTED), NOW),
        "by approve or reject, or when it recovers": preview(needs_one, Memory(), NOW),
    }
    for what, found in waits.items():
        assert found.next_transition == NextTransition(what=what)
    limited = preview(unasked(), given(HoldOrder(for_seconds=3600)), NOW)
    assert limited.next_transition == NextTransition(what="the hold ends", at=NOW + timedelta(minutes=59))


@pytest.mark.parametrize(
    ("orders", "what"),
    [
        ((), "the step "),
        ((HELD,), "by resume, or when it recovers"),
        ((HoldOrder(for_seconds=90),), "the hold ends"),
        ((HoldOrder(for_seconds=7200),), "the step "),
        ((HELD, ResumeOrder()), "the step "),
    ],
)
def test_next_transition_of_a_running_step_is_that_of_the_workflow(
    orders: tuple[OrderMessage, ...], what: str
) -> None:
    memory = ACTED
    for order in orders:
        memory = ordered(memory, order, NOW)
    found = preview(unasked(RUNNING), memory, NOW).next_transition
    assert found.what.startswith(what)
    assert found == move(unasked(RUNNING), memory).next_transition


@pytest.mark.parametrize("requests", [(), (RUNNING,)])
def test_order_to_remediate_that_expires_ends_a_hold_as_in_the_workflow(
    requests: tuple[RequestSnapshot, ...],
) -> None:
    observation = remediation.ordered(requests=requests).model_copy(update={"admission": None})
    memory = ordered(ACTED, HELD, NOW)
    found = preview(observation, memory, NOW).next_transition
    assert found.what == NextEvent.ORDER_EXPIRES
    assert found == move(observation, memory).next_transition


def test_shadow_acts_on_nothing_and_says_so() -> None:
    found = preview(unasked(is_shadow=True), Memory(), NOW)
    assert found.is_recorded_only
    assert not preview(unasked(is_shadow=True), given(HELD), NOW).is_recorded_only
