"""The order `skip`: which step it ends, and when it is refused."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import AnnotateRequests, Phase, TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import Refusal
from health.model.references import Action, Step
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import NewStart
from health.runbook.orders import ORDERS, HoldOrder, OrderContext, ResumeOrder, SkipOrder, ordered
from health.runbook.state import Memory
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    REBOOT,
    RESET,
    SECOND,
    THIRD,
    request_of,
    seen,
    template,
)
from tests.support.values.memories import ACTED, standing

SKIP = ORDERS["skip"]
AT_WORK = ACTED
FIRST_RUNS, SECOND_RUNS = request_of(FIRST), request_of(SECOND)
FIRST_IS_OVER = request_of(FIRST, 9 * MINUTE, succeeded=False, timed_out_at=NOW)
FIRST_OF_TWO = (FIRST_IS_OVER, SECOND_RUNS)
LIMIT = Hold(reason=HoldReason.LIMIT, message="2 of 2 under way")
MACHINE = (Step(action=Action.DELETE),)


def skipped(step: str, observation: Observation, memory: Memory = AT_WORK) -> Memory:
    """The memory after the order and one observation."""
    return learned(ordered(memory, SkipOrder(step=step), NOW), observation, NOW)


def refusal(step: str, observation: Observation, memory: Memory = AT_WORK) -> str:
    return skipped(step, observation, memory).orders[-1].refused


@pytest.mark.rule("NHC 1.7/nhc-timed-out")
def test_step_that_is_skipped_is_marked_as_timed_out_and_the_next_one_is_taken() -> None:
    memory = skipped("reboot", seen(FIRST_RUNS))
    marks = next_move(seen(FIRST_RUNS), memory, NOW)
    assert isinstance(marks, AnnotateRequests)
    assert [(patch.request.uid, *patch.annotations) for patch in marks.patches] == [("reboot", TIMED_OUT)]
    marked = memory.after_annotation(marks.patches).complete(seen(FIRST_RUNS))
    takes = next_move(marked, memory, NOW)
    assert isinstance(takes, TakeStep)
    assert ESCALATION[takes.step] == SECOND


def test_request_that_has_succeeded_is_over_without_a_mark() -> None:
    observation = seen(request_of(FIRST, succeeded=True))
    takes = next_move(observation, skipped("reboot", observation), NOW)
    assert isinstance(takes, TakeStep)
    assert ESCALATION[takes.step] == SECOND


@pytest.mark.parametrize("hold", [LIMIT, Hold(reason=HoldReason.THRESHOLD, message="5 of 10")])
def test_next_step_needs_its_admission_and_no_hold(hold: Hold) -> None:
    held = seen(request_of(FIRST, timed_out_at=NOW), hold=hold)
    move = next_move(held, skipped("reboot", seen(FIRST_RUNS)), NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.HELD
    assert hold.message in str(move.details)


def test_later_hold_of_a_person_keeps_the_next_step() -> None:
    memory = ordered(skipped("reboot", seen(FIRST_RUNS)), HoldOrder(reason="disk swap"), NOW)
    move = next_move(seen(request_of(FIRST, timed_out_at=NOW)), memory, NOW)
    assert isinstance(move, Wait)
    assert (move.phase, [hold.full for hold in move.details.holds]) == (Phase.HELD, ["disk swap"])


def test_skip_given_twice_or_while_the_step_changes_ends_one_step() -> None:
    once = skipped("reboot", seen(FIRST_RUNS))
    assert skipped("reboot", seen(FIRST_RUNS), once).skipped == once.skipped == ("reboot",)
    assert refusal("reboot", seen(FIRST_RUNS), once) == "no step runs, and RebootTemplate/reset is next"
    after = skipped("reboot", seen(*FIRST_OF_TWO), once)
    assert after.skipped == ("reboot",)
    assert after.orders[-1].refused == "the step 'reboot' does not run; RebootTemplate/reset runs"


def test_two_skips_of_one_step_before_the_next_observation_end_it_once() -> None:
    memory = ordered(
        ordered(AT_WORK, SkipOrder(step="reboot"), NOW), SkipOrder(step="RebootTemplate/reboot"), NOW
    )
    memory = learned(memory, seen(FIRST_RUNS), NOW)
    assert memory.skipped == ("reboot",)
    assert [bool(order.refused) for order in memory.orders] == [False, True]
    assert not any(order.is_pending for order in memory.orders)


def test_skip_that_arrives_as_an_update_and_as_a_signal_is_recorded_once() -> None:
    order = SkipOrder(step="reboot", reason="no BMC")
    memory = ordered(ordered(AT_WORK, order, NOW), order, NOW + MINUTE)
    (record,) = learned(memory, seen(FIRST_RUNS), NOW + MINUTE).orders
    assert (record.given, record.is_pending, record.refused) == (NOW, False, "")


SHADOW = Memory(is_shadow=True)
HELD = replace(AT_WORK, standing=standing("hold", "disk swap"))
LEFT_ALONE = replace(AT_WORK, standing=standing("abort", "power work"))
STARTS_OVER = replace(AT_WORK, starts_over=NewStart(), requests=(FIRST_RUNS.reference,))


@pytest.mark.parametrize(
    ("observation", "memory", "why"),
    [
        pytest.param(
            seen(FIRST_RUNS), HELD, "an order stands and needs resume first: hold: disk swap", id="held"
        ),
        pytest.param(
            seen(FIRST_RUNS),
            LEFT_ALONE,
            "an order stands and needs resume first: abort: power work",
            id="left alone",
        ),
        pytest.param(
            seen(is_shadow=True), SHADOW, "the check is in shadow, so no step is taken", id="shadow"
        ),
        pytest.param(
            seen(FIRST_RUNS, state=TargetState.HEALTHY), AT_WORK, "no step runs: it is Healthy", id="healthy"
        ),
        pytest.param(seen(state=TargetState.GONE), AT_WORK, "no step runs: it is Gone", id="gone"),
        pytest.param(
            seen(request_of(CLASSIC[0]), steps=CLASSIC),
            AT_WORK,
            "the check has no escalation, so no step follows",
            id="one template",
        ),
        pytest.param(
            seen(steps=MACHINE, under_way="is being deleted"),
            AT_WORK,
            "the check has no escalation, so no step follows",
            id="a Machine is deleted",
        ),
        pytest.param(
            seen(FIRST_RUNS), STARTS_OVER, "it starts over by order, which deletes its requests", id="restart"
        ),
        pytest.param(
            seen(state=TargetState.WAITING),
            Memory(),
            "no step was taken yet; RebootTemplate/reboot is next",
            id="before the first step",
        ),
        pytest.param(
            seen(FIRST_IS_OVER, hold=LIMIT),
            AT_WORK,
            "no step runs, and RebootTemplate/reset is next",
            id="between two steps",
        ),
        pytest.param(
            seen(), AT_WORK, "no step runs, and RebootTemplate/reboot is next", id="its request was deleted"
        ),
        pytest.param(
            seen(request_of(THIRD, succeeded=False)),
            Memory(spent=(REBOOT, RESET)),
            "no step runs, and no template is left to try",
            id="exhausted",
        ),
        pytest.param(
            seen(FIRST_RUNS, steps=ESCALATION[:1]),
            AT_WORK,
            "no step follows RebootTemplate/reboot",
            id="the last step",
        ),
        pytest.param(
            seen(*FIRST_OF_TWO),
            AT_WORK,
            "the step 'reboot' does not run; RebootTemplate/reset runs",
            id="another step",
        ),
    ],
)
def test_skip_is_refused_with_a_reason_and_changes_nothing_else(
    observation: Observation, memory: Memory, why: str
) -> None:
    assert refusal("reboot", observation, memory) == why
    without = learned(memory, observation, NOW)
    assert replace(skipped("reboot", observation, memory), orders=()) == without
    assert SKIP.is_offered(situation(observation, memory)) is ("does not run" in why)


def test_skip_without_a_step_is_refused_with_the_step_that_runs() -> None:
    why = "an order to skip names the step; RebootTemplate/reboot runs"
    assert refusal("", seen(FIRST_RUNS)) == why
    found = SKIP.refused(SkipOrder(), situation(seen(FIRST_RUNS)))
    assert found is not None
    assert (found.why, found.field) == (why, "step")


def test_unknown_state_decides_nothing_and_the_next_answer_does() -> None:
    memory = skipped("reboot", seen(FIRST_RUNS, state=TargetState.UNKNOWN, steps=()))
    (order,) = memory.orders
    assert order.is_pending
    assert memory.skipped == ()
    assert learned(memory, seen(FIRST_RUNS), NOW).skipped == ("reboot",)
    assert learned(memory, seen(FIRST_RUNS, state=TargetState.HEALTHY), NOW).skipped == ()


TWIN = Step(template=template("reboot", "ResetTemplate"), timeout_seconds=60)
FAR_TWIN = Step(template=template("reboot", namespace="others"), timeout_seconds=60)


@pytest.mark.parametrize(
    ("steps", "name", "is_obeyed"),
    [
        ((FIRST, SECOND), "reboot", True),
        ((FIRST, SECOND), "RebootTemplate/reboot", True),
        ((FIRST, SECOND), "RebootTemplate/remediators/reboot", True),
        ((FIRST, TWIN), "reboot", False),
        ((FIRST, TWIN), "RebootTemplate/reboot", True),
        ((FIRST, FAR_TWIN), "RebootTemplate/reboot", False),
        ((FIRST, FAR_TWIN), "RebootTemplate/remediators/reboot", True),
        ((SECOND, THIRD), "reboot", True),
    ],
)
def test_name_must_mean_the_running_step_alone(
    steps: tuple[Step, ...], name: str, *, is_obeyed: bool
) -> None:
    """In the last row the check no longer lists the template of the running request."""
    observation = seen(FIRST_RUNS, steps=steps)
    assert (skipped(name, observation).skipped == ("reboot",)) is is_obeyed
    completed = (
        SKIP.complete(SkipOrder(), replace(situation(observation), now=NOW + MINUTE))
        if SKIP.complete
        else None
    )
    assert isinstance(completed, SkipOrder)
    assert skipped(completed.step, observation).skipped == ("reboot",)


def test_command_names_the_running_step_and_asks_for_it_where_it_is_unknown() -> None:
    assert SKIP.complete is not None
    assert SKIP.complete(SkipOrder(step="reset"), None) == SkipOrder(step="reset")
    for unknown in (None, situation(None)):
        assert "name the step with --step" in str(SKIP.complete(SkipOrder(), unknown))


def test_restart_forgets_what_was_skipped() -> None:
    memory = ordered(skipped("reboot", seen(FIRST_RUNS)), ResumeOrder(step="reboot"), NOW)
    again = learned(memory.after_clean_up(LeftBehind(), (FIRST_RUNS,), NOW), seen(), NOW)
    assert again.skipped == ()


def situation(observation: Observation | None, memory: Memory = AT_WORK) -> OrderContext:
    return OrderContext(phase=Phase.REMEDIATING, memory=memory, observation=observation, now=NOW)


STEPS = st.permutations(ESCALATION).flatmap(lambda steps: st.integers(0, 3).map(lambda n: tuple(steps[:n])))
FATES: Any = st.fixed_dictionaries(
    {},
    optional={"succeeded": st.booleans(), "timed_out_at": st.just(NOW), "is_being_deleted": st.booleans()},
)


@st.composite
def requests(draw: st.DrawFn) -> list[RequestSnapshot]:
    tried = draw(st.lists(st.sampled_from(ESCALATION), unique=True))
    ages = st.sampled_from([timedelta(), MINUTE, 9 * MINUTE])
    return [request_of(step, draw(ages), **draw(FATES)) for step in tried]


@given(
    requests=requests(),
    steps=STEPS,
    names=st.lists(st.sampled_from(["reboot", "reset", "replace", ""]), min_size=1, max_size=4),
    state=st.sampled_from(TargetState),
)
def test_skips_end_only_running_steps_that_they_name_and_that_another_step_follows(
    requests: list[RequestSnapshot], steps: tuple[Step, ...], names: list[str], state: TargetState
) -> None:
    """However many arrive before the next observation."""
    observation, memory = seen(*requests, state=state, steps=steps), AT_WORK
    before = memory.plan(observation).progress(requests, NOW)
    for name in names:
        memory = ordered(memory, SkipOrder(step=name), NOW)
    memory = learned(memory, observation, NOW)
    for uid in memory.skipped:
        (request,) = [one for one in requests if one.uid == uid]
        assert request not in before.over
        assert request.reference.template in names
    assert len(memory.skipped) == sum(not (order.refused or order.is_pending) for order in memory.orders)
    if memory.skipped:
        assert not memory.plan(observation).progress(requests, NOW).is_exhausted
    moved: Any = next_move(observation, memory, NOW)
    assert not isinstance(moved, TakeStep) or observation.admission is not None


def test_the_time_of_the_order_is_recorded_with_its_step() -> None:
    (order,) = skipped("reboot", seen(FIRST_RUNS)).orders
    given_at: datetime = order.given
    assert (order.order, order.step, given_at, order.refused) == ("skip", "reboot", NOW, "")


@pytest.mark.parametrize(
    ("age", "answer"),
    [
        (timedelta(seconds=29), "RebootTemplate/reboot began only 29s ago; name it with --step"),
        (timedelta(seconds=30), "RebootTemplate/reboot"),
    ],
)
def test_command_without_a_step_names_only_a_step_that_has_run_for_a_while(
    age: timedelta, answer: str
) -> None:
    assert SKIP.complete is not None
    observation = seen(request_of(FIRST, age))
    situation = OrderContext(phase=Phase.REMEDIATING, memory=AT_WORK, observation=observation, now=NOW)
    completed = SKIP.complete(SkipOrder(), situation)
    assert (completed.why if isinstance(completed, Refusal) else completed.step) == answer
    assert SKIP.complete(SkipOrder(step="reset"), situation) == SkipOrder(step="reset")
    assert SKIP.is_offered(situation)
