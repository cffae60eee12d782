"""The orders `approve` and `reject`: which step waits, what answers the question, and when it is over."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.approval_hold import approval_hold
from health.model.annotations import AnnotatedAnswer
from health.model.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalDefault,
    RequiredApproval,
    names_of,
)
from health.model.moves import AskApproval, Move, Phase, TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderMessage
from health.model.references import Action, Step
from health.runbook.decide import next_move
from health.runbook.learn import BY_DEFAULT, learned
from health.runbook.orders import (
    ORDERS,
    AbortOrder,
    ApproveOrder,
    HoldOrder,
    OrderContext,
    RejectOrder,
    ResumeOrder,
    SkipOrder,
    ordered,
)
from health.runbook.state import Memory
from tests.support.values.builders import (
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    SECOND,
    fact,
    request_of,
    seen,
    template,
)
from tests.support.values.memories import ACTED, timer_of

APPROVE, REJECT = ORDERS["approve"], ORDERS["reject"]
NAME = "RebootTemplate/reboot"
ALL = RequiredApproval(steps=(0, 1, 2))
ON_NODE = ALL.model_copy(update={"resource": "node worker"})
LIMIT = Hold(reason=HoldReason.LIMIT, message="2 of 2 under way")
ADA = ApproveOrder(step=NAME, identity="ada@desk", reason="INC-7")
NEW = Memory()
FIRST_IS_OVER = request_of(FIRST, 9 * MINUTE, succeeded=False, timed_out_at=NOW)


def needing(*requests: Any, required: RequiredApproval | None = ALL, **fields: Any) -> Observation:
    """An observation that even admits the step, as a detector of another version may."""
    return seen(*requests, approval=required, **fields)


def moved(memory: Memory, observation: Observation, now: Any = NOW) -> tuple[Memory, Move]:
    memory = learned(memory.at(now), observation, now)
    return memory, next_move(observation, memory, now)


def asking(observation: Observation | None = None, memory: Memory = NEW) -> Memory:
    memory, move = moved(memory, observation or needing())
    assert isinstance(move, AskApproval)
    return replace(memory, approval=move.approval)


def asked(memory: Memory) -> Approval:
    assert memory.approval is not None
    return memory.approval


def refused(memory: Memory, order: OrderMessage) -> str:
    """The refusal of an order, which changes nothing but its record."""
    after = ordered(memory, order, NOW)
    assert replace(after, orders=memory.orders) == memory
    return after.orders[-1].refused


def test_step_that_needs_an_approval_is_asked_for_and_waits_although_it_is_admitted() -> None:
    memory = asking()
    assert (asked(memory).name, asked(memory).asked_at, asked(memory).answer) == (NAME, NOW, None)
    memory, move = moved(memory, needing())
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    assert str(move.details).endswith(
        f"waits for approval: {NAME}, asked at 2026-03-01T12:00:00Z (ApprovalRequired)"
    )
    assert move.next_transition.what == "by approve or reject, or when it recovers"
    assert move.next_transition.at is None


def test_approved_step_is_taken_with_the_admission_of_the_next_answer_and_only_then() -> None:
    memory = ordered(asking(), ADA, NOW)
    assert memory.is_approved(FIRST)
    _, held = moved(memory, needing(hold=LIMIT))
    assert isinstance(held, Wait)
    assert "2 of 2 under way" in str(held.details)
    _, takes = moved(memory, needing())
    assert isinstance(takes, TakeStep)
    assert ESCALATION[takes.step] == FIRST


def test_rejected_step_waits_for_resume_which_asks_again() -> None:
    reject = RejectOrder(step="reboot", identity="bob@home", reason="disk swap")
    memory, move = moved(ordered(asking(), reject, NOW), needing())
    assert isinstance(move, Wait)
    assert str(move.details).endswith(
        f"StepRejected: {NAME} was rejected at 2026-03-01T12:00:00Z, by bob@home: disk swap"
    )
    assert move.next_transition.what == "by resume, or when it recovers"
    without, move = moved(memory, needing(required=None))
    assert isinstance(move, Wait), "an edit of the check is no answer of a person"
    assert asked(asking(memory=ordered(without, ResumeOrder(), NOW))).answer is None


def test_resume_asks_nothing_again_that_is_asked_or_approved() -> None:
    for memory in (asking(), ordered(asking(), ADA, NOW)):
        assert ordered(memory, ResumeOrder(), NOW).approval == memory.approval


def test_each_step_is_asked_for_alone() -> None:
    memory = ordered(asking(), ADA, NOW)
    memory = memory.after_request(FIRST, request_of(FIRST), NOW, NOW)
    assert memory.approval is None
    memory, move = moved(memory, needing(FIRST_IS_OVER))
    assert isinstance(move, AskApproval)
    assert move.approval.is_for(SECOND)
    second = replace(memory, approval=move.approval)
    assert refused(second, ADA) == f"the step '{NAME}' does not wait; RebootTemplate/reset does"


def test_step_without_a_requirement_is_taken_and_the_one_that_needs_it_is_asked_for() -> None:
    required = RequiredApproval(steps=(1,))
    _, move = moved(Memory(), needing(required=required))
    assert isinstance(move, TakeStep)
    _, move = moved(ACTED, needing(FIRST_IS_OVER, required=required))
    assert isinstance(move, AskApproval)


@pytest.mark.parametrize(
    "hold", [HOLD, Hold(reason=HoldReason.BACK_OFF, message="2nd in a row")], ids=lambda hold: hold.reason
)
def test_person_is_not_asked_while_something_else_holds_the_step(hold: Hold) -> None:
    _, move = moved(Memory(), needing(hold=hold))
    assert isinstance(move, Wait)
    assert hold.message in str(move.details)


def test_person_is_not_asked_in_shadow_and_the_step_is_recorded() -> None:
    memory, move = moved(Memory(), needing(is_shadow=True))
    assert not isinstance(move, AskApproval | Wait)
    assert learned(asking(), needing(is_shadow=True), NOW).approval is None
    assert memory.is_shadow


@pytest.mark.parametrize(
    ("memory", "order", "why"),
    [
        (Memory(), ADA, "no step waits for an approval"),
        (Memory(), RejectOrder(step=NAME), "no step waits for an approval"),
        (asking(), ApproveOrder(), f"an order to approve names the step; {NAME} waits"),
        (asking(), RejectOrder(step="reset"), f"the step 'reset' does not wait; {NAME} does"),
        (
            ordered(asking(), HoldOrder(reason="disk swap"), NOW),
            ADA,
            "an order stands and needs resume first: hold: disk swap",
        ),
        (
            ordered(asking(), ADA, NOW),
            RejectOrder(step=NAME),
            f"{NAME} was approved at 2026-03-01T12:00:00Z, by ada@desk: INC-7",
        ),
        (
            ordered(asking(), RejectOrder(step=NAME, identity="bob"), NOW),
            ADA,
            f"it needs resume first, which asks again: {NAME} was rejected at 2026-03-01T12:00:00Z, by bob",
        ),
        (Memory(is_shadow=True), ADA, "the check is in shadow, so no step is taken"),
    ],
    ids=["not asked", "none to reject", "no step", "another step", "held", "answered", "rejected", "shadow"],
)
def test_order_is_refused_with_a_reason_and_changes_nothing(
    memory: Memory, order: OrderMessage, why: str
) -> None:
    assert refused(memory, order) == why
    spec = ORDERS["approve" if isinstance(order, ApproveOrder) else "reject"]
    refusal = spec.refused(order, situation(memory))
    assert refusal is not None
    assert refusal.why == why


def test_approval_that_arrives_twice_approves_one_step() -> None:
    memory = ordered(ordered(asking(), ADA, NOW), ADA, NOW)
    assert [bool(one.refused) for one in memory.orders] == [False, True]
    memory = memory.after_request(FIRST, request_of(FIRST), NOW, NOW)
    late = ordered(asking(needing(FIRST_IS_OVER), memory), ADA, NOW)
    assert not late.is_approved(SECOND)
    assert asked(late).answer is None


@pytest.mark.parametrize(
    "observation",
    [
        pytest.param(needing(state=TargetState.HEALTHY), id="recovered"),
        pytest.param(
            needing(state=TargetState.WAITING, fact=fact(NOW + MINUTE)),
            id="the timer of another failure runs",
        ),
        pytest.param(needing(state=TargetState.GONE, steps=()), id="gone"),
        pytest.param(needing(fact=fact(NOW + MINUTE)), id="another failure"),
        pytest.param(needing(request_of(FIRST)), id="the step runs"),
        pytest.param(needing(FIRST_IS_OVER), id="the step is over"),
        pytest.param(needing(steps=ESCALATION[1:]), id="the check has another step"),
        pytest.param(needing(required=None), id="the check needs no approval"),
        pytest.param(needing(required=RequiredApproval(steps=(2,))), id="another step needs it"),
        pytest.param(needing(under_way="is being deleted"), id="somebody did it"),
    ],
)
@pytest.mark.parametrize("is_answered", [False, True])
def test_question_and_its_approval_are_over_with_the_failure_or_the_step(
    observation: Observation, *, is_answered: bool
) -> None:
    memory = ordered(asking(), ADA, NOW) if is_answered else asking()
    assert learned(memory, observation, NOW).approval is None


@pytest.mark.parametrize(
    "observation",
    [
        pytest.param(needing(state=TargetState.UNKNOWN), id="unknown"),
        pytest.param(needing(hold=HOLD), id="held"),
        pytest.param(
            needing(steps=tuple(one.model_copy(update={"timeout_seconds": 7}) for one in ESCALATION)),
            id="other timeouts",
        ),
    ],
)
def test_approval_outlasts_what_is_no_other_failure_and_no_other_step(observation: Observation) -> None:
    memory = learned(ordered(asking(), ADA, NOW), observation, NOW + 59 * MINUTE)
    assert memory.is_approved(FIRST)


def test_abort_ends_the_question() -> None:
    assert learned(ordered(asking(), AbortOrder(), NOW), needing(), NOW).approval is None


def test_request_that_was_lost_needs_another_approval() -> None:
    memory = ordered(asking(), ADA, NOW).after_loss((), needing(), NOW)
    assert memory.approval is None


def test_act_that_broke_off_is_tried_again_under_the_same_approval() -> None:
    memory = ordered(asking(), ADA, NOW)
    hold = Hold(reason=HoldReason.FAILED, message="500")
    failed = memory.after_failed_act(hold, needing(), NOW, 0.5, is_forbidden=False)
    assert learned(failed, needing(), NOW + MINUTE).is_approved(FIRST)


def test_skip_is_refused_while_a_step_waits() -> None:
    memory = learned(ordered(asking(), SkipOrder(step=NAME), NOW), needing(), NOW)
    assert memory.orders[-1].refused == f"no step was taken yet; {NAME} is next"


def expiring(default: ApprovalDefault | str) -> RequiredApproval:
    return ALL.model_copy(update={"expires_after_seconds": 1800.0, "default": default})


LATER = NOW + 30 * MINUTE


@pytest.mark.parametrize(
    ("default", "follows"),
    [
        (ApprovalDefault.APPROVE, "it is approved"),
        (ApprovalDefault.REJECT, "it is rejected"),
        (ApprovalDefault.HOLD, "it stays held"),
        ("ask-the-boss", "it stays held"),
    ],
)
def test_wait_for_an_answer_begins_with_its_deadline_and_what_follows_and_wakes_the_incident_then(
    default: ApprovalDefault | str, follows: str
) -> None:
    observation = needing(required=expiring(default))
    _, move = moved(asking(observation), observation)
    assert isinstance(move, Wait)
    words = f"waits for approval until 2026-03-01T12:30:00Z (then {follows}): {NAME}, asked at "
    assert move.details.brief.startswith(words)
    assert move.brief.within().startswith("waits for approval until 2026-03-01T12:30:00Z")
    assert timer_of(move) == 1800


@pytest.mark.parametrize(
    ("default", "order", "answer"),
    [
        (ApprovalDefault.APPROVE, "approve", ApprovalAnswer.APPROVED),
        (ApprovalDefault.REJECT, "reject", ApprovalAnswer.REJECTED),
    ],
)
def test_default_answers_as_an_order_with_its_own_identity(
    default: ApprovalDefault, order: str, answer: ApprovalAnswer
) -> None:
    observation = needing(required=expiring(default))
    memory = asking(observation)
    assert learned(memory, observation, LATER - MINUTE).approval == memory.approval
    memory = learned(memory, observation, LATER)
    assert asked(memory).answer is answer
    (record,) = memory.orders
    assert (record.order, record.step, record.identity) == (order, NAME, BY_DEFAULT)
    assert (record.reason, record.given) == ("no answer within 30m", LATER)
    assert memory.has_report_due


def test_question_that_expired_without_a_default_is_reported_once_and_can_be_answered() -> None:
    observation = needing(required=expiring(ApprovalDefault.HOLD))
    memory = asking(observation)
    memory = learned(memory.after_report(memory), observation, LATER)
    assert (asked(memory).is_expired, asked(memory).answer, memory.has_report_due) == (True, None, True)
    assert "waits for approval (expired at 2026-03-01T12:30:00Z): " in asked(memory).words
    told = memory.after_report(memory)
    assert learned(told, observation, LATER + MINUTE).approval == told.approval
    assert ordered(told, ADA, LATER + MINUTE).is_approved(FIRST)


def test_default_does_not_answer_while_a_person_holds_the_incident() -> None:
    observation = needing(required=expiring(ApprovalDefault.APPROVE))
    held = learned(ordered(asking(observation), HoldOrder(), NOW), observation, LATER + MINUTE)
    assert asked(held).answer is None
    resumed = learned(ordered(held, ResumeOrder(), LATER + MINUTE), observation, LATER + MINUTE)
    assert (asked(resumed).answer, asked(resumed).expires_at) == (None, LATER + 31 * MINUTE)


@pytest.mark.parametrize(
    "freeze", [needing(hold=HOLD), needing(hold=LIMIT), needing(state=TargetState.UNKNOWN, hold=HOLD)]
)
def test_time_for_an_answer_starts_again_after_each_other_hold(freeze: Observation) -> None:
    required = expiring(ApprovalDefault.APPROVE)
    observation, frozen = needing(required=required), freeze.model_copy(update={"approval": required})
    memory = learned(asking(observation), frozen, NOW + 20 * MINUTE)
    assert asked(memory).expires_at is None
    memory = learned(memory, frozen, LATER + MINUTE)
    assert asked(memory).answer is None
    memory = learned(memory, observation, LATER + 2 * MINUTE)
    assert (asked(memory).answer, asked(memory).expires_at) == (None, LATER + 32 * MINUTE)
    memory = learned(memory, observation, LATER + 32 * MINUTE)
    assert asked(memory).answer is ApprovalAnswer.APPROVED
    assert memory.orders[-1].reason == "no answer within 30m"


def version(of_first: str, generation: int = 3) -> Observation:
    """An observation of a template and a check as they are now."""
    required = ALL.model_copy(update={"versions": (of_first, "second", "third")})
    return needing(required=required, generation=generation)


@pytest.mark.parametrize(
    ("seen_now", "after", "is_asked_again"),
    [
        pytest.param(version("a"), MINUTE, False, id="nothing changed"),
        pytest.param(version(""), MINUTE, False, id="the template was not read yet"),
        pytest.param(version("b"), MINUTE, True, id="the template was edited"),
        pytest.param(version("a", generation=4), MINUTE, True, id="the check was edited"),
        pytest.param(version("a"), timedelta(hours=1), True, id="the approval is old"),
    ],
)
def test_approval_is_for_what_was_asked_about_and_for_an_hour(
    seen_now: Observation, after: timedelta, *, is_asked_again: bool
) -> None:
    memory = ordered(asking(version("a")), ADA, NOW)
    assert asked(memory).version == "a"
    assert (learned(memory, seen_now, NOW + after).approval is None) is is_asked_again
    rejected = ordered(asking(version("a")), RejectOrder(step=NAME), NOW)
    assert learned(rejected, seen_now, NOW + after).is_rejected, "a rejection stands until resume"


def test_open_question_is_asked_again_after_an_edit_and_an_approval_lasts_as_long_as_a_question() -> None:
    assert learned(asking(version("a")), version("b"), NOW).approval is None
    observation = needing(required=expiring(ApprovalDefault.HOLD))
    approved = ordered(asking(observation), ADA, NOW)
    assert learned(approved, observation, LATER - timedelta(seconds=1)).is_approved(FIRST)
    assert learned(approved, observation, LATER).approval is None


def test_edit_of_the_expiry_counts_from_the_question() -> None:
    memory = learned(asking(), needing(required=expiring(ApprovalDefault.APPROVE)), NOW + MINUTE)
    assert asked(memory).expires_at == LATER


@pytest.mark.parametrize("seconds", [3600, None])
def test_edit_that_extends_an_expired_question_opens_it_again(seconds: float | None) -> None:
    observation = needing(required=expiring(ApprovalDefault.HOLD))
    expired = learned(asking(observation), observation, LATER)
    required = expiring(ApprovalDefault.REJECT).model_copy(update={"expires_after_seconds": seconds})
    opened = learned(expired, needing(required=required), LATER + MINUTE)
    assert not asked(opened).is_expired
    assert "expired" not in asked(opened).words
    answer = None if seconds is None else ApprovalAnswer.REJECTED
    assert asked(learned(opened, needing(required=required), LATER + 40 * MINUTE)).answer is answer


TWIN = Step(template=template("reboot", "ResetTemplate"), timeout_seconds=60)


@pytest.mark.parametrize(
    ("step", "steps", "names"),
    [
        (FIRST, ESCALATION, (NAME, "RebootTemplate/remediators/reboot", "reboot")),
        (FIRST, (FIRST, TWIN), (NAME, "RebootTemplate/remediators/reboot")),
        (Step(action=Action.DELETE), (Step(action=Action.DELETE),), ("delete",)),
    ],
)
def test_names_of_a_step_mean_no_other_one(
    step: Step, steps: tuple[Step, ...], names: tuple[str, ...]
) -> None:
    assert names_of(step, steps) == names


def situation(memory: Memory, now: Any = NOW) -> OrderContext:
    return OrderContext(phase=Phase.HELD, memory=memory, observation=needing(), now=now)


def test_command_names_the_step_that_waits_and_show_proposes_it() -> None:
    assert APPROVE.complete is not None
    assert APPROVE.complete(ApproveOrder(), situation(asking())) == ApproveOrder(step=NAME)
    assert "name the step with --step" in str(APPROVE.complete(ApproveOrder(), None))
    assert "no step waits" in str(APPROVE.complete(ApproveOrder(), situation(Memory())))
    for spec in (APPROVE, REJECT):
        assert spec.is_offered(situation(asking()))
        assert not spec.is_offered(situation(Memory()))
        assert not spec.is_offered(situation(ordered(asking(), ADA, NOW)))


def test_command_without_a_step_names_a_later_step_only_once_it_has_waited_for_a_while() -> None:
    assert REJECT.complete is not None
    later = asking(needing(FIRST_IS_OVER), ACTED)
    young = REJECT.complete(RejectOrder(), situation(later, NOW + timedelta(seconds=29)))
    assert "RebootTemplate/reset waits only since 29s; name it with --step" in str(young)
    old = REJECT.complete(RejectOrder(), situation(later, NOW + timedelta(seconds=30)))
    assert old == RejectOrder(step="RebootTemplate/reset")


def test_show_proposes_resume_after_a_rejection() -> None:
    resume = ORDERS["resume"]
    assert not resume.is_offered(replaced_hold(asking()))
    assert resume.is_offered(replaced_hold(ordered(asking(), RejectOrder(step=NAME), NOW)))


def replaced_hold(memory: Memory) -> OrderContext:
    held = needing(hold=Hold(reason=HoldReason.APPROVAL_REQUIRED, message=""))
    return OrderContext(phase=Phase.HELD, memory=memory, observation=held, now=NOW)


QUESTION = asked(asking())


@pytest.mark.parametrize(
    ("required", "due", "known", "reason"),
    [
        (None, 0, None, None),
        (ALL, None, None, None),
        (RequiredApproval(steps=(1,)), 0, None, None),
        (ALL, 0, None, HoldReason.APPROVAL_REQUIRED),
        (ALL, 0, QUESTION, HoldReason.APPROVAL_REQUIRED),
        (ALL, 1, QUESTION.answered(ApprovalAnswer.APPROVED, "", NOW), HoldReason.APPROVAL_REQUIRED),
        (ALL, 0, QUESTION.model_copy(update={"answer": "Perhaps"}), HoldReason.APPROVAL_REQUIRED),
        (ALL, 0, QUESTION.answered(ApprovalAnswer.APPROVED, "", NOW), None),
        (ALL, 0, QUESTION.answered(ApprovalAnswer.REJECTED, "", NOW), HoldReason.STEP_REJECTED),
        (None, 0, QUESTION.answered(ApprovalAnswer.REJECTED, "", NOW), HoldReason.STEP_REJECTED),
        (ALL, 1, QUESTION.answered(ApprovalAnswer.REJECTED, "", NOW), HoldReason.APPROVAL_REQUIRED),
    ],
)
def test_detector_holds_the_due_step_unless_it_is_approved(
    required: RequiredApproval | None, due: int | None, known: Approval | None, reason: HoldReason | None
) -> None:
    hold = approval_hold(required, ESCALATION, due, known)
    assert (hold.reason if hold else None) is reason


ORDER = st.sampled_from(
    [
        ApproveOrder(step="reboot"),
        ApproveOrder(step="reset"),
        RejectOrder(step="reboot"),
        HoldOrder(),
        AbortOrder(),
        ResumeOrder(),
        ApproveOrder(),
    ]
)
OBSERVED = st.sampled_from(
    [
        needing(),
        needing(fact=fact(NOW + MINUTE)),
        needing(state=TargetState.HEALTHY),
        needing(state=TargetState.UNKNOWN),
        needing(FIRST_IS_OVER),
        needing(required=RequiredApproval(steps=(0,), expires_after_seconds=60.0)),
        needing(hold=LIMIT),
    ]
)


@given(st.lists(ORDER | OBSERVED, max_size=12))
def test_no_step_is_taken_whose_failure_and_name_no_person_approved(events: list[Any]) -> None:
    memory, now, approvals = Memory(), NOW, set[tuple[str, Any]]()
    observation = needing()
    for event in events:
        now += MINUTE
        if not isinstance(event, Observation):
            waits = memory.approval
            memory = ordered(memory, event, now)
            if isinstance(event, ApproveOrder) and waits and not memory.orders[-1].refused:
                approvals.add((waits.name, waits.fact))
            continue
        observation = event
        for _ in range(2):
            memory, move = moved(memory, observation, now)
            if isinstance(move, AskApproval):
                memory = replace(memory, approval=move.approval)
        assert not isinstance(move, AskApproval)
        if isinstance(move, TakeStep) and observation.approval and move.step in observation.approval.steps:
            step = observation.steps[move.step]
            assert (names_of(step, observation.steps)[0], observation.fact) in approvals


def answered_by(*answers: AnnotatedAnswer, memory: Memory | None = None) -> Memory:
    """The memory of an incident that asked, after an observation with these annotations."""
    memory = asking(needing(required=ON_NODE)) if memory is None else memory
    return learned(memory, needing(required=ON_NODE, answers=answers), NOW)


def annotation(question: str | None, *, is_approval: bool = True) -> AnnotatedAnswer:
    return AnnotatedAnswer(is_approval=is_approval, question=question or "", reason="INC-7", place="it")


def test_question_has_an_id_and_says_how_kubectl_answers_it() -> None:
    approval = asked(asking(needing(required=ON_NODE)))
    assert approval.id is not None
    assert approval.words.endswith(
        f"; kubectl annotate --overwrite node worker paramedic.dev/approve={approval.id}"
        " (or paramedic.dev/reject)"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "Node/another"},
        {"generation": 9},
        {"approval": ALL.model_copy(update={"versions": ("a", "b")})},
    ],
)
def test_id_is_of_one_target_generation_template_and_time(change: dict[str, Any]) -> None:
    id_ = asked(asking(needing())).id
    assert asked(asking(needing().model_copy(update=change))).id != id_
    _, move = moved(NEW, needing(), NOW + MINUTE)
    assert isinstance(move, AskApproval)
    assert move.approval.id != id_
    assert asked(asking(needing())).id == id_


def test_annotation_with_the_id_approves_once() -> None:
    question = asked(asking(needing(required=ON_NODE))).id
    memory = answered_by(annotation(question))
    assert memory.is_approved(FIRST)
    assert asked(memory).answered_by == "by an annotation on it: INC-7"
    again = answered_by(annotation(question), memory=memory)
    assert [(order.order, order.step) for order in again.orders] == [("approve", NAME)]


def test_annotation_with_the_id_rejects_and_the_first_answer_counts() -> None:
    question = asked(asking(needing(required=ON_NODE))).id
    memory = answered_by(annotation(question, is_approval=False), annotation(question))
    assert asked(memory).answer is ApprovalAnswer.REJECTED


@pytest.mark.parametrize("other", [None, "00000000"])
def test_annotation_with_another_id_answers_nothing(other: str | None) -> None:
    memory = answered_by(annotation(other))
    assert (asked(memory).answer, memory.orders) == (None, ())


def test_left_over_annotation_answers_no_later_question() -> None:
    first = asked(asking(needing(required=ON_NODE))).id
    later = NOW + MINUTE
    memory, move = moved(NEW, needing(required=ON_NODE), later)
    assert isinstance(move, AskApproval)
    memory = replace(memory, approval=move.approval)
    memory = learned(memory, needing(required=ON_NODE, answers=(annotation(first),)), later)
    assert asked(memory).answer is None


def test_annotation_waits_while_an_order_of_a_person_blocks_steps() -> None:
    memory = asking(needing(required=ON_NODE))
    question = asked(memory).id
    blocked = ordered(memory, HoldOrder(), NOW)
    blocked = answered_by(annotation(question), memory=blocked)
    assert asked(blocked).answer is None
    resumed = answered_by(annotation(question), memory=ordered(blocked, ResumeOrder(), NOW))
    assert resumed.is_approved(FIRST)


def test_timer_that_runs_again_for_the_same_failure_keeps_question_and_rejection() -> None:
    memory = asking(needing(required=ON_NODE))
    question = asked(memory).id
    again = needing(required=ON_NODE).model_copy(update={"state": TargetState.WAITING})
    kept = learned(memory, again, NOW)
    assert (asked(kept).id, asked(kept).counts_from) == (question, None)
    rejected = answered_by(annotation(question, is_approval=False), memory=memory)
    assert asked(learned(rejected, again, NOW)).answer is ApprovalAnswer.REJECTED
    another = again.model_copy(update={"fact": fact(LATER)})
    assert learned(rejected, another, NOW).approval is None


def test_rejection_takes_back_an_approval_whose_step_was_not_taken() -> None:
    memory = asking(needing(required=ON_NODE))
    question = asked(memory).id
    approved = ordered(answered_by(annotation(question), memory=memory), HoldOrder(), NOW)
    taken_back = answered_by(annotation(question), annotation(question, is_approval=False), memory=approved)
    assert asked(taken_back).answer is ApprovalAnswer.REJECTED
