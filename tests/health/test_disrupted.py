"""An incident after its target was deleted or marked."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.model.details import Details
from health.model.moves import End, Outcome, Phase, RemoveRequests, RenewLease, TakeStep, Wait
from health.model.observation import Observation, TargetState
from health.model.references import Action, Step
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.memory_parts import SEEN_AFTER, Disruption
from health.runbook.state import Memory
from health.runbook.wake_up import needs_wake_up
from tests.support.values.builders import ADMITTED, NOW, fact, request_snapshot
from tests.support.values.memories import HELD_LEASE, Timed, because, standing, timed, timer_of, with_lease

LATER = NOW + timedelta(minutes=10)
MARKED = "marked for external remediation"


def observed(state: TargetState, action: Action = Action.DELETE, under_way: str = "") -> Observation:
    return Observation(
        state=state,
        reason="it is so",
        fact=fact(),
        steps=(Step(action=action),),
        under_way=under_way,
        admission=ADMITTED,
    )


EXPIRED, HEALTHY = observed(TargetState.EXPIRED), observed(TargetState.HEALTHY)
GONE, RELEASED = observed(TargetState.GONE), observed(TargetState.RELEASED)
ORDERED = Memory(lease=HELD_LEASE)
DELETED = ORDERED.after_disruption(Step(action=Action.DELETE), EXPIRED, NOW, NOW)
GIVEN_BACK = DELETED.after_clean_up(LeftBehind(), (), NOW)


@pytest.mark.rule("MHC A.2.5/delete")
@pytest.mark.parametrize("state", [TargetState.EXPIRED, TargetState.WAITING, TargetState.HEALTHY])
def test_machine_that_was_deleted_is_waited_for_whatever_its_node_says(state: TargetState) -> None:
    move = next_move(observed(state), DELETED, NOW)
    assert timed(move) == Timed(Phase.REMEDIATING, "it is so; it was deleted, and is not gone yet", 300.0)


@pytest.mark.rule("MHC A.2.5/delete")
def test_lease_is_kept_while_a_finalizer_keeps_the_machine() -> None:
    details = Details(reason="it is so", more=("it was deleted, and is not gone yet",))
    assert next_move(EXPIRED, DELETED, LATER) == RenewLease(Phase.REMEDIATING, details)


MARK_SEEN = Memory(has_acted=True, is_marked=True)
MARK_UNSEEN = Memory(has_acted=True, disruption=Disruption(action=Action.MARK, at=NOW))
MARK_OF_A_LOST_ANSWER = learned(Memory(), EXPIRED.model_copy(update={"is_marked": True}), NOW)


@pytest.mark.rule("MHC A.2.5/delete", "CAPI B.2.6/replaced", "rule 10", "rule 39")
@pytest.mark.parametrize(
    ("observation", "memory", "outcome"),
    [
        pytest.param(GONE, DELETED, None, id="deleted by us, with a Lease"),
        pytest.param(GONE, GIVEN_BACK, Outcome.REMEDIATED, id="deleted by us"),
        pytest.param(GONE, learned(MARK_SEEN, GONE, NOW), Outcome.REMEDIATED, id="marked"),
        pytest.param(GONE, learned(MARK_UNSEEN, GONE, NOW), Outcome.REMEDIATED, id="marked, not seen yet"),
        pytest.param(
            GONE, learned(MARK_OF_A_LOST_ANSWER, GONE, NOW), Outcome.REMEDIATED, id="marked, answer was lost"
        ),
        pytest.param(GONE, Memory(), Outcome.GONE, id="deleted by another client"),
        pytest.param(RELEASED, GIVEN_BACK, Outcome.RELEASED, id="its check is gone"),
    ],
)
def test_incident_of_a_machine_that_is_gone_or_released_ends_once_it_is_cleaned_up(
    observation: Observation, memory: Memory, outcome: Outcome | None
) -> None:
    words = because("it is so")
    expected = RemoveRequests(words) if outcome is None else End(outcome, words)
    assert next_move(observation, memory, NOW) == expected


@pytest.mark.rule("rule 40")
def test_abort_leaves_a_machine_alone_that_is_going_already() -> None:
    alone = replace(GIVEN_BACK, standing=standing("abort", "maintenance"))
    move = next_move(EXPIRED, alone, NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.LEFT_ALONE


@pytest.mark.rule("rule 28")
def test_mark_is_waited_for_until_its_consumer_takes_it_off() -> None:
    marked = observed(TargetState.EXPIRED, Action.MARK, MARKED)
    memory = ORDERED.after_disruption(Step(action=Action.MARK), marked, NOW, NOW)
    assert timed(next_move(marked, memory, NOW)) == Timed(Phase.REMEDIATING, f"it is so; {MARKED}", 300.0)
    cleaned = memory.after_clean_up(LeftBehind(), (), NOW)
    assert next_move(HEALTHY, cleaned, NOW) == End(Outcome.REMEDIATED, because("it is so"))


@pytest.mark.rule("rule 28")
def test_mark_that_the_detector_does_not_see_yet_is_not_set_again_before_its_time_is_over() -> None:
    unmarked = observed(TargetState.EXPIRED, Action.MARK)
    memory = learned(ORDERED.after_disruption(Step(action=Action.MARK), unmarked, NOW, NOW), unmarked, NOW)
    soon = NOW + SEEN_AFTER - timedelta(seconds=1)
    move = next_move(unmarked, memory.at(soon), soon)
    words = "it is so; it was marked, and the mark is not visible yet"
    assert timed(move, soon) == Timed(Phase.REMEDIATING, words, 1.0)
    assert isinstance(next_move(unmarked, memory.at(NOW + SEEN_AFTER), NOW + SEEN_AFTER), TakeStep)


@pytest.mark.rule("rule 28")
def test_machine_that_is_to_be_deleted_by_now_does_not_wait_until_its_mark_is_seen() -> None:
    memory = ORDERED.after_disruption(
        Step(action=Action.MARK), observed(TargetState.EXPIRED, Action.MARK), NOW, NOW
    )
    assert next_move(EXPIRED, memory, NOW) == TakeStep(0, ADMITTED, because("it is so"))


@pytest.mark.rule("rule 28")
def test_mark_that_was_seen_and_is_gone_is_set_again_at_once_where_nothing_backs_off() -> None:
    unmarked = observed(TargetState.EXPIRED, Action.MARK)
    marked = observed(TargetState.EXPIRED, Action.MARK, MARKED).model_copy(update={"is_marked": True})
    memory = ORDERED.after_disruption(Step(action=Action.MARK), unmarked, NOW, NOW)
    memory = learned(learned(memory, marked, NOW), unmarked, NOW)
    assert next_move(unmarked, memory, NOW) == TakeStep(0, ADMITTED, because("it is so"))


@pytest.mark.rule("rule 28")
def test_mark_that_the_operator_set_is_not_set_again() -> None:
    move = next_move(observed(TargetState.EXPIRED, Action.MARK, MARKED), Memory(), NOW)
    assert isinstance(move, Wait)
    assert move.phase is Phase.REMEDIATING


@pytest.mark.rule("rule 28")
def test_mark_that_went_wakes_the_incident() -> None:
    told = observed(TargetState.EXPIRED, Action.MARK, MARKED)
    assert needs_wake_up(told, observed(TargetState.EXPIRED, Action.MARK))
    assert not needs_wake_up(observed(TargetState.EXPIRED, Action.MARK), told)


@pytest.mark.rule("rule 14")
def test_deletion_counts_as_an_attempt_from_the_moment_of_the_delete() -> None:
    memory = ORDERED.after_disruption(
        Step(action=Action.DELETE), EXPIRED.model_copy(update={"earlier_attempts": 2}), NOW, NOW
    )
    assert (memory.attempt, memory.disruption.deleted_at) == (3, NOW)


@pytest.mark.rule("MHC A.2.6/healthy")
def test_request_is_kept_while_a_machine_that_is_not_unhealthy_does_not_count_as_healthy_either() -> None:
    going = HEALTHY.model_copy(update={"requests": (request_snapshot(),), "counts_as_healthy": False})
    memory = with_lease(ORDERED, renew_at=LATER)
    words = "it is so; but it does not count as healthy yet"
    assert timed(next_move(going, memory, NOW)) == Timed(Phase.REMEDIATING, words, 600.0)
    fit = going.model_copy(update={"counts_as_healthy": True})
    assert needs_wake_up(going, fit)
    assert next_move(fit, memory, NOW) == RemoveRequests(because("it is so"))


@pytest.mark.rule("MHC A.2.5/delete")
@pytest.mark.parametrize(
    "after",
    [observed(TargetState.EXPIRED, under_way="machine-1 is being deleted"), observed(TargetState.GONE)],
)
def test_deletion_whose_answer_was_lost_is_ours_when_the_machine_goes(after: Observation) -> None:
    ordered = ORDERED.before_act(Step(action=Action.DELETE))
    known = learned(ordered, after, NOW)
    assert (known.disruption, known.attempt) == (Disruption(action=Action.DELETE, at=NOW), 1)
    assert learned(ordered, EXPIRED, NOW).disruption.deleted_at is None
    assert learned(ORDERED, after, NOW).disruption.deleted_at is None


@pytest.mark.rule("rule 14")
def test_mark_that_was_taken_off_in_vain_is_set_again_after_a_wait() -> None:
    limit = {"back_off_limit_seconds": 1800.0}
    marked = observed(TargetState.EXPIRED, Action.MARK, MARKED).model_copy(update=limit | {"is_marked": True})
    unmarked = observed(TargetState.EXPIRED, Action.MARK).model_copy(update=limit)
    known = learned(learned(ORDERED, marked, NOW), unmarked, NOW)
    move = next_move(unmarked, known, NOW)
    assert isinstance(move, Wait)
    assert (move.phase, timer_of(move)) == (Phase.HELD, 60.0)
    assert isinstance(next_move(unmarked, known, NOW + timedelta(minutes=1)), TakeStep)


@pytest.mark.rule("rule 28", "rule 10")
def test_machine_that_was_marked_is_deleted_at_once_when_that_is_what_its_check_does_now() -> None:
    marked = observed(TargetState.EXPIRED, Action.MARK, MARKED).model_copy(update={"is_marked": True})
    deleted = observed(TargetState.EXPIRED, Action.DELETE).model_copy(update={"is_marked": True})
    known = learned(learned(ORDERED, marked, NOW), deleted, NOW)
    assert known.loss is None
    assert needs_wake_up(marked, deleted)
    assert isinstance(next_move(deleted, known, NOW), TakeStep)
