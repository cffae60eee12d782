"""When a target that is healthy after a step counts as recovered, where its check asks for a proof."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import (
    End,
    Outcome,
    Phase,
    RemoveRequests,
    TakeStep,
    Wait,
)
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.remediation_request import HEALTHY_DELAY
from health.runbook.decide import next_move
from health.runbook.incident import becomes_overdue_at
from health.runbook.learn import learned
from health.runbook.wake_up import admitted_at, needs_wake_up
from health.runbook.words import recovery_words
from tests.support.values import proving
from tests.support.values.builders import (
    ESCALATION,
    HOLD,
    MINUTE,
    NOW,
    THIRD,
    fact,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import Timed, annotations_of, handed_over, standing, timed, timer_of
from tests.support.values.proving import (
    A_SECOND,
    KEPT,
    MADE,
    MARK,
    NEW,
    NEWEST,
    OLD,
    SAME,
    TIME,
    Incident,
    healthy,
    told,
    unhealthy,
)

incident = proving.incident


def test_healthy_target_with_another_boot_id_has_recovered_after_the_time(incident: Incident) -> None:
    assert timed(incident.sees(healthy(MADE))) == Timed(Phase.HEALTHY_DELAY, KEPT, 300)
    waits = incident.sees(healthy(MADE), TIME - A_SECOND)
    assert timed(waits, NOW + TIME - A_SECOND) == Timed(Phase.HEALTHY_DELAY, KEPT, 1)
    assert isinstance(waits, Wait)
    assert waits.next_transition.what == "its recovery is proven, and the requests are deleted"
    assert waits.next_transition.at == NOW + TIME
    assert isinstance(incident.sees(healthy(MADE), TIME), RemoveRequests)


def test_healthy_target_with_the_same_boot_id_counts_as_unhealthy_until_its_step_times_out_and_the_next_comes(
    incident: Incident,
) -> None:
    never = healthy(MADE, boot_id=OLD)
    waits = incident.sees(never)
    assert isinstance(waits, Wait)
    assert waits.phase is Phase.REMEDIATING
    assert str(waits.details).startswith(SAME)
    assert waits.next_transition.at == MADE.created + timedelta(seconds=300)

    late = timedelta(seconds=301)
    assert "remediation.medik8s.io/nhc-timed-out" in annotations_of(incident.sees(never, late))
    over = healthy(MADE.model_copy(update={"timed_out_at": NOW + late}), boot_id=OLD)
    assert incident.sees(over.model_copy(update={"hold": HOLD}), late).phase is Phase.HELD
    step = incident.sees(over, late)
    assert isinstance(step, TakeStep)
    assert step.step == 1


@pytest.mark.rule("rule 14", "rule 14/deleted request")
def test_each_request_that_is_deleted_while_the_boot_is_the_same_doubles_the_wait_for_the_next(
    incident: Incident,
) -> None:
    look = healthy(boot_id=OLD, back_off_limit_seconds=1800)
    lost_at = timedelta()
    for minutes in (1, 2):
        assert isinstance(incident.sees(look, lost_at), TakeStep)
        incident.memory = incident.memory.after_loss((MADE.reference,), look, NOW + lost_at)
        due = lost_at + minutes * MINUTE
        waits = incident.sees(look, lost_at)
        assert isinstance(waits, Wait)
        assert (waits.phase, waits.next_transition.at) == (Phase.HELD, NOW + due)
        assert isinstance(incident.sees(look, due), TakeStep)
        incident.acts()
        lost_at = due


@pytest.mark.rule("rule 14", "rule 14/deleted request")
def test_each_mark_that_is_taken_off_while_the_boot_is_the_same_doubles_the_wait_for_the_next() -> None:
    incident, taken_off = Incident(), timedelta()
    off = healthy(boot_id=OLD, steps=(MARK,), back_off_limit_seconds=1800)
    marked = off.model_copy(update={"is_marked": True, "under_way": "it is marked"})
    incident.sees(unhealthy(steps=(MARK,)))
    for minutes in (1, 2):
        incident.memory = incident.memory.before_act(MARK).after_disruption(MARK, off, None, NOW + taken_off)
        assert incident.sees(marked, taken_off).phase is Phase.REMEDIATING
        due = taken_off + minutes * MINUTE
        waits = incident.sees(off, taken_off)
        assert isinstance(waits, Wait)
        assert (waits.phase, waits.next_transition.at) == (Phase.HELD, NOW + due)
        assert isinstance(incident.sees(off, due), TakeStep)
        taken_off = due


def test_target_that_booted_is_not_escalated_while_it_is_healthy_though_its_step_is_over(
    incident: Incident,
) -> None:
    incident.sees(healthy(MADE), timedelta(seconds=299))
    later = incident.sees(healthy(MADE), timedelta(seconds=400))
    assert later.phase is Phase.HEALTHY_DELAY


def test_same_boot_id_after_the_last_step_leaves_the_incident_exhausted_and_overdue_as_an_unhealthy_target(
    incident: Incident,
) -> None:
    tried = [one.model_copy(update={"boot_id": OLD}) for one in with_steps_tried(*ESCALATION)]
    move = incident.sees(healthy(*tried, boot_id=OLD))
    assert move.phase is Phase.EXHAUSTED
    assert incident.memory.is_exhausted
    last = healthy(request_of(THIRD, boot_id=OLD), boot_id=OLD)
    assert becomes_overdue_at(last, incident.memory) is not None
    assert becomes_overdue_at(healthy(request_of(THIRD, boot_id=OLD)), incident.memory) is None


@pytest.mark.parametrize(("before", "now"), [("", NEW), ("", ""), (OLD, "")])
def test_where_a_boot_id_is_not_known_the_time_alone_decides_and_that_is_reported(
    before: str, now: str
) -> None:
    incident = Incident()
    made = incident.acts(boot_id=before)
    assert "no boot ID" in told(incident.sees(healthy(made, boot_id=now)))
    assert isinstance(incident.sees(healthy(made, boot_id=now), TIME), RemoveRequests)


@pytest.mark.parametrize(
    "gap",
    [
        pytest.param(unhealthy(MADE, boot_id=NEW), id="unhealthy"),
        pytest.param(unhealthy(MADE, boot_id=NEW, state=TargetState.WAITING), id="waiting"),
        pytest.param(healthy(MADE, boot_id=NEWEST), id="another boot"),
        pytest.param(healthy(MADE, last_transition=NOW + MINUTE), id="a gap that nobody saw"),
    ],
)
def test_gap_begins_the_time_anew(incident: Incident, gap: Observation) -> None:
    incident.sees(healthy(MADE))
    incident.sees(gap, 4 * MINUTE)
    assert isinstance(incident.sees(healthy(MADE, last_transition=NOW + 4 * MINUTE), TIME), Wait)
    last = incident.sees(healthy(MADE, last_transition=NOW + 4 * MINUTE), TIME + 4 * MINUTE)
    assert isinstance(last, Wait)
    done = incident.sees(healthy(MADE, last_transition=NOW + 4 * MINUTE), 2 * TIME)
    assert isinstance(done, RemoveRequests)


@pytest.mark.parametrize("boot_id", [OLD, NEW])
def test_new_run_goes_on_with_the_proof_where_it_was(incident: Incident, boot_id: str) -> None:
    target = healthy(MADE, boot_id=boot_id)
    incident.sees(target)
    after = handed_over(incident.memory)
    assert after == incident.memory
    assert Incident(after).sees(target, TIME) == incident.sees(target, TIME)


def test_time_without_an_observation_is_no_gap(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(seen(MADE, state=TargetState.UNKNOWN, hold=HOLD), 2 * MINUTE)
    assert isinstance(incident.sees(healthy(MADE), TIME), RemoveRequests)


def test_clocks_of_kubelets_measure_nothing(incident: Incident) -> None:
    """The clock of a machine that has just booted may be years off."""
    for far in (timedelta(days=-9999), timedelta(days=9999)):
        one = Incident(incident.memory)
        assert isinstance(one.sees(healthy(MADE, last_transition=NOW + far)), Wait)
        assert isinstance(one.sees(healthy(MADE, last_transition=NOW + far), TIME), RemoveRequests)


def test_target_that_recovers_before_any_step_has_nothing_to_prove() -> None:
    incident = Incident()
    incident.sees(unhealthy(state=TargetState.WAITING))
    assert isinstance(incident.sees(healthy(boot_id=OLD)), End)


def test_choice_counts_from_the_next_look_on_whenever_it_is_made_or_taken_back(incident: Incident) -> None:
    plain = healthy(MADE, boot_id="", proven_recovery_seconds=0, last_transition=None, fact=None, steps=())
    assert isinstance(Incident(incident.memory).sees(plain), RemoveRequests)
    incident.sees(healthy(MADE, boot_id=OLD))
    assert isinstance(Incident(incident.memory).sees(plain), RemoveRequests)
    assert needs_wake_up(healthy(MADE, boot_id=OLD), plain)
    assert needs_wake_up(plain, healthy(MADE, boot_id=OLD))
    assert needs_wake_up(healthy(MADE), healthy(MADE, proven_recovery_seconds=60))


def test_longer_of_healthy_delay_and_time_counts_both_from_the_recovery(incident: Incident) -> None:
    short: dict[str, Any] = {"healthy_delay_seconds": 60}
    long: dict[str, Any] = {"healthy_delay_seconds": 600}
    patch = incident.sees(healthy(MADE, **short))
    assert annotations_of(patch) == {HEALTHY_DELAY: "2026-03-01T12:00:00Z"}
    stamped = MADE.model_copy(update={"healthy_since": NOW})
    both = incident.sees(healthy(stamped, **short))
    assert told(both) == f"{KEPT}; healthyDelay of 1m"
    assert timer_of(both) == 300
    after = incident.sees(healthy(stamped, **short), 2 * MINUTE)
    assert "healthyDelay" not in told(after)
    assert isinstance(incident.sees(healthy(stamped, **short), TIME), RemoveRequests)

    waits = incident.sees(healthy(stamped, **long))
    assert isinstance(waits, Wait)
    assert waits.next_transition.what == "healthyDelay ends, and the requests are deleted"
    assert timer_of(waits) == 600
    assert "new boot ID" not in told(incident.sees(healthy(stamped, **long), 6 * MINUTE))


def test_no_delay_is_stamped_on_a_request_where_the_check_has_none(incident: Incident) -> None:
    """`healthyDelayed` in the status of the check would be a lie."""
    assert isinstance(incident.sees(healthy(MADE)), Wait)
    for_good = incident.sees(healthy(MADE, healthy_delay_seconds=-1))
    assert isinstance(for_good, Wait)
    assert for_good.next_transition.what == "when a person confirms that it is healthy"


def test_stamp_that_lies_ahead_prolongs_nothing_where_the_check_has_no_delay(incident: Incident) -> None:
    ahead = MADE.model_copy(update={"healthy_since": NOW + timedelta(days=1)})
    assert timer_of(incident.sees(healthy(ahead))) == 300


def test_stamp_of_a_recovery_that_does_not_count_is_taken_back(incident: Incident) -> None:
    stamped = MADE.model_copy(update={"healthy_since": NOW})
    patch = incident.sees(healthy(stamped, boot_id=OLD, healthy_delay_seconds=60))
    assert annotations_of(patch) == {HEALTHY_DELAY: None}


@pytest.mark.parametrize("boot_id", [OLD, NEW])
def test_confirmation_or_abort_of_a_person_decides(incident: Incident, boot_id: str) -> None:
    target = healthy(MADE, boot_id=boot_id)
    confirmed = Incident(incident.memory).sees(target.model_copy(update={"is_confirmed": True}))
    assert isinstance(confirmed, RemoveRequests)
    aborted = Incident(replace(incident.memory, standing=standing("abort")))
    assert isinstance(aborted.sees(target), RemoveRequests)
    assert recovery_words(target, aborted.memory, NOW) is None


def test_hold_of_a_person_stops_the_next_step_and_not_the_proof(incident: Incident) -> None:
    incident.memory = replace(incident.memory, standing=standing("hold"))
    over = MADE.model_copy(update={"timed_out_at": NOW})
    assert incident.sees(healthy(over, boot_id=OLD)).phase is Phase.HELD
    incident.sees(healthy(over))
    assert isinstance(incident.sees(healthy(over), TIME), RemoveRequests)


def test_nothing_is_to_be_proven_in_shadow(incident: Incident) -> None:
    """There was no boot: the incident handles its own earlier requests as before."""
    assert isinstance(incident.sees(healthy(MADE, boot_id=OLD, is_shadow=True)), RemoveRequests)


def test_gone_and_released_targets_prove_nothing(incident: Incident) -> None:
    for state in (TargetState.GONE, TargetState.RELEASED):
        assert isinstance(Incident(incident.memory).sees(healthy(MADE, state=state)), RemoveRequests)


def test_outcome_is_that_of_a_remediation(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(healthy(MADE), TIME)
    incident.cleans_up()
    end = incident.sees(healthy(), TIME)
    assert isinstance(end, End)
    assert end.outcome is Outcome.REMEDIATED


@pytest.mark.parametrize(
    ("boot_id", "after", "said"),
    [
        (NEW, timedelta(seconds=20), "healthy with a new boot ID for 20s of 5m"),
        (NEW, TIME, None),
        (OLD, MINUTE, None),
        ("", MINUTE, "healthy, with no boot ID to tell whether it booted, for 1m of 5m"),
    ],
)
def test_details_say_how_far_the_proof_is(
    incident: Incident, boot_id: str, after: timedelta, said: str | None
) -> None:
    incident.sees(healthy(MADE, boot_id=boot_id))
    assert recovery_words(healthy(MADE, boot_id=boot_id), incident.memory, NOW + after) == said


def test_incident_is_woken_for_another_boot_a_gap_and_the_end_of_a_hold() -> None:
    told = healthy(MADE, boot_id=OLD)
    assert not needs_wake_up(told, told)
    assert needs_wake_up(told, healthy(MADE))
    assert needs_wake_up(healthy(MADE), healthy(MADE, last_transition=NOW + A_SECOND))
    assert needs_wake_up(healthy(MADE, boot_id=""), healthy(MADE, boot_id="", last_transition=None))
    over = MADE.model_copy(update={"timed_out_at": NOW})
    assert needs_wake_up(healthy(over, hold=HOLD), healthy(over))
    other = Hold(reason=HoldReason.PAUSED, message="paused")
    assert needs_wake_up(healthy(over, hold=HOLD), healthy(over, hold=other))
    assert not needs_wake_up(healthy(over, hold=HOLD), healthy(over, hold=HOLD))
    assert needs_wake_up(healthy(MADE), healthy())
    assert needs_wake_up(healthy(over, templates="1"), healthy(over, templates="2"))


def test_admission_of_a_healthy_target_is_one_that_may_be_acted_on() -> None:
    told = healthy(MADE, boot_id=OLD, seen_at=NOW, answered_at=NOW)
    assert admitted_at(told, would_act=True, before=None) == NOW
    assert told.is_outdated(NOW + TIME, timedelta(seconds=5))
    assert not healthy(MADE, boot_id=OLD, hold=HOLD).may_be_admitted


LOOKS = st.lists(
    st.tuples(st.sampled_from([OLD, NEW, NEWEST]), st.integers(1, 400), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(LOOKS)
def test_request_is_kept_until_the_target_was_healthy_for_the_time_with_one_other_boot_id(
    looks: list[tuple[str, int, bool]],
) -> None:
    incident, after, since = Incident(), timedelta(), None
    made = incident.acts(THIRD)
    before: str | None = None
    for boot_id, seconds, is_healthy in looks:
        after += timedelta(seconds=seconds)
        if not is_healthy:
            since, before = None, None
        elif since is None or boot_id != before:
            since, before = after, boot_id
        look = healthy(made, boot_id=boot_id) if is_healthy else unhealthy(made, boot_id=boot_id)
        move = incident.sees(look, after)
        is_proven = is_healthy and boot_id != OLD and since is not None and after - since >= TIME
        assert isinstance(move, RemoveRequests) is is_proven
        if is_proven:
            return


@given(st.sampled_from([OLD, NEW, ""]), st.sampled_from(TargetState), st.integers(0, 1000))
def test_without_the_choice_nothing_is_another_than_ever(
    boot_id: str, state: TargetState, seconds: int
) -> None:
    now: datetime = NOW + timedelta(seconds=seconds)
    off: dict[str, Any] = {
        "proven_recovery_seconds": 0,
        "fact": None if state is TargetState.HEALTHY else fact(),
    }
    look = healthy(MADE, boot_id=boot_id, state=state, hold=HOLD, **off)
    plain = look.model_copy(update={"boot_id": "", "last_transition": None})
    incident = Incident()
    incident.acts()
    assert next_move(look, learned(incident.memory, look, now), now) == next_move(
        plain, learned(incident.memory, plain, now), now
    )
