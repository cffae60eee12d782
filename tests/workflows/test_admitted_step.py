"""The input and the result of an act, and the memory of an incident after it; these tests need no server."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from health.model.moves import TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, failed
from health.model.references import Action, RequestReference, Step
from health.runbook.decide import next_move
from health.runbook.state import Memory
from tests.support.values.builders import (
    ADMITTED,
    FIRST,
    INCIDENT,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    request_of,
    seen,
)
from tests.support.values.memories import ACTED, HELD_LEASE
from workflows.calls import AdmittedStep, AfterAct
from workflows.contracts import ActInput, ActResult

MADE, NEXT = request_of(FIRST), request_of(SECOND)
BOTH = replace(ACTED, requests=(MADE.reference, NEXT.reference))
LIMITED = seen(back_off_limit_seconds=1800)
DELETE = Step(action=Action.DELETE)


def asked(before: Memory, observation: Observation | None = None, step: Step = FIRST) -> ActInput:
    return AdmittedStep(
        step=step, admission=ADMITTED, observation=observation or seen(), before=before, began=NOW
    ).asks(INCIDENT, "run")


def held(hold: Hold, before: Memory | None = None, step: Step = FIRST) -> AfterAct:
    """The state of an incident whose act was held."""
    known = before or Memory()
    admitted = AdmittedStep(step=step, admission=ADMITTED, observation=seen(), before=known, began=NOW)
    return admitted.after(ActResult.held(hold), known.before_act(step), NOW, 0)


def hold(reason: HoldReason, again: float = 60) -> Hold:
    return Hold(reason=reason, message="not now", ask_again_seconds=again)


@pytest.mark.rule("NHC 2.4/2")
@pytest.mark.parametrize(
    ("step", "observation", "known"),
    [
        pytest.param(FIRST, seen(), (MADE.reference,), id="made in this step, and not seen"),
        pytest.param(SECOND, seen(), (NEXT.reference,), id="of another step"),
        pytest.param(THIRD, seen(), (), id="of earlier steps"),
        pytest.param(SECOND, seen(NEXT), (), id="it is seen"),
        pytest.param(
            SECOND, seen(steps=(SECOND, THIRD)), (MADE.reference, NEXT.reference), id="no longer listed"
        ),
    ],
)
def test_act_receives_earlier_requests_that_the_detector_does_not_see(
    step: Step, observation: Observation, known: tuple[RequestReference, ...]
) -> None:
    assert asked(BOTH, observation, step).known == known


@pytest.mark.rule("NHC 2.4/1")
def test_act_gets_the_requests_of_earlier_steps_that_are_there() -> None:
    assert asked(Memory()).requests == ()
    assert asked(ACTED, seen(MADE), SECOND).requests == (MADE.reference,)


@pytest.mark.rule("rule 13/blocked", "NHC 2.5/overdue")
@pytest.mark.parametrize(
    ("before", "holds_lease"),
    [
        pytest.param(Memory(), False, id="none was taken"),
        pytest.param(held(hold(HoldReason.TAKEN)).memory, False, id="the act before was refused it"),
        pytest.param(held(hold(HoldReason.TEMPLATE), ACTED).memory, True, id="of the step before"),
        pytest.param(Memory(lease=HELD_LEASE), False, id="an act broke off"),
        pytest.param(ACTED.after_release(), False, id="given back, as it was overdue"),
    ],
)
def test_act_learns_if_the_incident_held_the_lease_before(before: Memory, *, holds_lease: bool) -> None:
    assert asked(before).holds_lease is holds_lease


@pytest.mark.rule("rule 14/deleted request")
@pytest.mark.parametrize(
    ("before", "observation", "settled"),
    [
        pytest.param(BOTH, seen(), (), id="somebody deleted it"),
        pytest.param(replace(BOTH, withdrawn=(MADE.uid,)), seen(), (MADE.uid,), id="we did"),
        pytest.param(
            replace(BOTH, attempt=1),
            seen(earlier_attempts=1),
            (MADE.uid,),
            id="its remediation counts as an earlier one",
        ),
    ],
)
def test_act_receives_the_requests_whose_end_is_no_loss(
    before: Memory, observation: Observation, settled: tuple[str, ...]
) -> None:
    assert asked(before, observation).settled == settled


@pytest.mark.rule("rule 14", "rule 14/deleted request")
@pytest.mark.parametrize(
    ("before", "observation", "due"),
    [
        pytest.param(BOTH, LIMITED, NOW + MINUTE, id="the first loss"),
        pytest.param(BOTH.after_loss((), LIMITED, NOW - MINUTE), LIMITED, NOW + 2 * MINUTE, id="the second"),
        pytest.param(replace(BOTH, skips_back_off=True), LIMITED, None, id="a person said so"),
        pytest.param(BOTH, seen(), None, id="no limit"),
        pytest.param(Memory(), LIMITED, None, id="nothing was made"),
    ],
)
def test_act_gets_the_time_of_the_next_request_if_a_user_deleted_the_last(
    before: Memory, observation: Observation, due: datetime | None
) -> None:
    assert asked(before, observation).due_after_loss == due


@pytest.mark.rule("rule 14/deleted request")
def test_request_that_a_user_deleted_is_lost_and_the_next_one_waits_by_what_was_seen() -> None:
    after = AdmittedStep(step=FIRST, admission=ADMITTED, observation=LIMITED, before=BOTH, began=NOW).after(
        ActResult.lost(), BOTH, NOW, 0
    )
    assert after.memory.requests == (NEXT.reference,)
    assert after.observation == LIMITED.without_admission()
    waits = next_move(LIMITED, replace(after.memory, spent=()), NOW)
    assert isinstance(waits, Wait)
    assert "its request was removed by another actor" in str(waits.details)


@pytest.mark.rule("rule 2")
def test_act_that_found_something_else_is_followed_by_another_question_and_not_at_once() -> None:
    after = held(hold(HoldReason.NOT_TRUE, again=2))
    assert after.observation == seen().without_admission()
    waits = next_move(seen(), after.memory, NOW)
    assert isinstance(waits, Wait)
    assert waits.until[0].at is not None
    assert (waits.until[0].at - NOW).total_seconds() == 2
    assert not after.has_unreported_finding


@pytest.mark.rule("rule 4")
@pytest.mark.parametrize("found", [failed("500"), hold(HoldReason.STALE_FACTS, again=0)])
def test_act_that_broke_off_or_came_too_late_is_asked_about_first(found: Hold) -> None:
    assert held(found).observation is None


def test_finding_that_only_an_act_sees_holds_its_step_and_is_reported_once() -> None:
    first = held(hold(HoldReason.TEMPLATE))
    assert first.observation is not None
    assert first.observation.hold == first.memory.found == hold(HoldReason.TEMPLATE)
    assert first.has_unreported_finding
    assert not held(hold(HoldReason.TEMPLATE), first.memory).has_unreported_finding


def test_deletion_that_was_refused_is_none_and_one_that_broke_off_may_be_one() -> None:
    assert not held(hold(HoldReason.REFUSED), step=DELETE).memory.disruption.may_have_deleted
    assert held(failed("500"), step=DELETE).memory.disruption.may_have_deleted


def test_request_that_was_made_is_seen_before_the_detector_sees_it() -> None:
    after = AdmittedStep(
        step=SECOND, admission=ADMITTED, observation=seen(MADE), before=ACTED, began=NOW
    ).after(ActResult.requested(NEXT, NOW), ACTED, NOW, 0)
    assert after.observation == seen(MADE, NEXT).without_admission()
    assert NEXT.reference in after.memory.requests
    assert not isinstance(next_move(seen(MADE, NEXT), after.memory, NOW), TakeStep)


REFUSED = Hold(reason=HoldReason.REFUSED, message="no")


@pytest.mark.parametrize(
    "result",
    [
        ActResult.requested(request_of(FIRST)),
        ActResult.requested(request_of(FIRST), NOW),
        ActResult.disrupted(),
        ActResult.disrupted(NOW),
        ActResult.lost(),
        ActResult.held(REFUSED, is_forbidden=True),
    ],
)
def test_result_comes_through_the_wire_as_it_was(result: ActResult) -> None:
    assert ActResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"outcome": {"kind": "Drained"}}, "its answer Drained is not known here"),
        ({"outcome": "Drained"}, "its answer is not known here"),
        ({"outcome": {}}, "its answer is not known here"),
        ({}, "its answer is not known here"),
    ],
)
def test_unknown_result_is_an_act_with_unknown_effects(answer: dict[str, Any], said: str) -> None:
    hold = ActResult.model_validate(answer).hold
    assert hold is not None
    assert hold.reason is HoldReason.FAILED
    assert hold.message == f"the attempt to act failed: the worker is of another version: {said}"
