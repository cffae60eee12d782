"""When a target that is healthy after a step counts as recovered, where its check asks for a proof."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import (
    End,
    Move,
    Outcome,
    Phase,
    RemoveRequests,
    RenewLease,
    TakeStep,
    Wait,
    phase_of,
)
from health.model.observation import Observation, TargetState
from health.model.references import Action, Step
from health.model.remediation_request import BOOT_ID, HEALTHY_DELAY, RemediationRequest
from health.model.request_snapshot import RequestSnapshot
from health.runbook.chores import LeftBehind
from health.runbook.learning import learned
from health.runbook.memory import Memory, NewStart
from health.runbook.next_move import next_move
from health.runbook.proven_recovery import words
from health.runbook.remediating import becomes_overdue_at
from health.runbook.wake_up import admitted_at, needs_wake_up
from tests.health.steps import Timed, annotations_of, order, timed, timer_of, with_lease
from tests.objects import (
    ESCALATION,
    FIRST,
    HOLD,
    INCIDENT,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    fact,
    request_of,
    seen,
    with_steps_tried,
)

OLD, NEW, NEWEST = "boot-1", "boot-2", "boot-3"
TIME = 5 * MINUTE
A_SECOND = timedelta(seconds=1)
MADE = request_of(FIRST, boot_id=OLD)
MARK = Step(action=Action.MARK)
NAME = str(INCIDENT.target)


def healthy(
    *requests: RequestSnapshot,
    boot_id: str = NEW,
    state: TargetState = TargetState.HEALTHY,
    **fields: Any,
) -> Observation:
    """What the detector answers of a healthy target under a check that asks for a proof."""
    says = {
        "subject": NAME,
        "reason": "healthy",
        "fact": fact(NOW, boot_id, "status.nodeInfo.bootID") if boot_id else None,
        "boot_id": boot_id,
        "last_transition": NOW,
        "proven_recovery_seconds": TIME.total_seconds(),
    }
    return seen(*requests, state=state, **says | fields)


def unhealthy(*requests: RequestSnapshot, boot_id: str = OLD, **fields: Any) -> Observation:
    says: dict[str, Any] = {"boot_id": boot_id, "proven_recovery_seconds": TIME.total_seconds()}
    return seen(*requests, **says | fields)


class Incident:
    """Goes by the runbook over what it is shown, and remembers."""

    def __init__(self, memory: Memory = Memory()) -> None:  # noqa: B008  frozen
        self.memory = memory

    def sees(self, observation: Observation, after: timedelta = timedelta()) -> Move:
        now = NOW + after
        self.memory = learned(self.memory.at(now), observation, now)
        return next_move(observation, self.memory, now)

    def acts(self, step: Step = FIRST, boot_id: str = OLD, **fields: Any) -> RequestSnapshot:
        made = request_of(step, boot_id=boot_id, **fields)
        acted = self.memory.having_ordered(step).having_acted(step, made, NOW, NOW)
        self.memory = with_lease(acted, renew_at=NOW + timedelta(days=1))
        return made

    def cleans_up(self, *left: RequestSnapshot) -> None:
        hangs = LeftBehind(hanging=tuple(one.reference for one in left), has_lease=bool(left))
        self.memory = self.memory.having_cleaned_up(hangs, (MADE,), NOW)


@pytest.fixture
def incident() -> Incident:
    """One that has made its first request a moment ago, while the target ran since the old boot."""
    one = Incident()
    one.acts()
    return one


def told(move: Move) -> str:
    assert isinstance(move, Wait), move
    return str(move.details)


KEPT = f"{NAME}: healthy with a new boot ID since 2026-03-01T12:00:00Z, proven after 5m"
SAME = f"{NAME}: healthy since 2026-03-01T12:00:00Z, but its boot ID boot-1 is the same as before the step"


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
    assert phase_of(incident.sees(over.model_copy(update={"hold": HOLD}), late)) is Phase.HELD
    step = incident.sees(over, late)
    assert isinstance(step, TakeStep)
    assert step.step == 1


def test_target_that_booted_is_not_escalated_while_it_is_healthy_though_its_step_is_over(
    incident: Incident,
) -> None:
    incident.sees(healthy(MADE), timedelta(seconds=299))
    later = incident.sees(healthy(MADE), timedelta(seconds=400))
    assert phase_of(later) is Phase.HEALTHY_DELAY


def test_same_boot_id_after_the_last_step_leaves_the_incident_exhausted_and_overdue_as_an_unhealthy_target(
    incident: Incident,
) -> None:
    tried = [one.model_copy(update={"boot_id": OLD}) for one in with_steps_tried(*ESCALATION)]
    move = incident.sees(healthy(*tried, boot_id=OLD))
    assert phase_of(move) is Phase.EXHAUSTED
    assert incident.memory.is_exhausted
    last = healthy(request_of(THIRD, boot_id=OLD), boot_id=OLD)
    assert becomes_overdue_at(last, incident.memory) is not None
    assert becomes_overdue_at(healthy(request_of(THIRD, boot_id=OLD)), incident.memory) is None


@pytest.mark.parametrize(("before", "now"), [("", NEW), ("", ""), (OLD, "")])
def test_where_a_boot_id_is_not_known_the_time_alone_must_do_and_that_is_told(before: str, now: str) -> None:
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


def test_time_in_which_nobody_could_tell_is_no_gap(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(seen(MADE, state=TargetState.UNKNOWN, hold=HOLD), 2 * MINUTE)
    assert isinstance(incident.sees(healthy(MADE), TIME), RemoveRequests)


def test_clocks_of_kubelets_measure_nothing(incident: Incident) -> None:
    """That of a machine which has just booted may be years off."""
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
def test_person_who_confirms_or_aborts_has_the_last_word(incident: Incident, boot_id: str) -> None:
    target = healthy(MADE, boot_id=boot_id)
    confirmed = Incident(incident.memory).sees(target.model_copy(update={"is_confirmed": True}))
    assert isinstance(confirmed, RemoveRequests)
    aborted = Incident(incident.memory.model_copy(update={"left_alone": order("abort")}))
    assert isinstance(aborted.sees(target), RemoveRequests)
    assert words(target, aborted.memory, NOW) == ""


@pytest.mark.parametrize("boot_id", [OLD, NEW])
def test_request_that_was_cleaned_up_and_is_still_seen_begins_nothing(
    incident: Incident, boot_id: str
) -> None:
    """The watch of a kind lags: the target would be remediated against a person's word."""
    incident.sees(healthy(MADE, boot_id=boot_id, is_confirmed=True))
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(MADE, boot_id=boot_id)), RemoveRequests)
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(boot_id=boot_id)), End)


def test_hold_of_a_person_stops_the_next_step_and_not_the_proof(incident: Incident) -> None:
    incident.memory = incident.memory.model_copy(update={"held": order("hold")})
    over = MADE.model_copy(update={"timed_out_at": NOW})
    assert phase_of(incident.sees(healthy(over, boot_id=OLD))) is Phase.HELD
    incident.sees(healthy(over))
    assert isinstance(incident.sees(healthy(over), TIME), RemoveRequests)


def test_resume_takes_the_steps_anew_though_the_target_is_healthy_and_its_requests_are_gone(
    incident: Incident,
) -> None:
    incident.memory = incident.memory.model_copy(update={"starts_over": NewStart()})
    assert isinstance(incident.sees(healthy(MADE, boot_id=OLD)), RemoveRequests)
    incident.cleans_up()
    step = incident.sees(healthy(boot_id=OLD))
    assert isinstance(step, TakeStep)
    assert step.step == 0
    again = incident.acts(boot_id=OLD)
    assert phase_of(incident.sees(healthy(again, boot_id=OLD))) is Phase.REMEDIATING


def test_resume_of_a_target_that_booted_meanwhile_ends_with_its_proof(incident: Incident) -> None:
    incident.memory = incident.memory.model_copy(update={"starts_over": NewStart()})
    assert phase_of(incident.sees(healthy(MADE))) is Phase.HEALTHY_DELAY
    assert isinstance(incident.sees(healthy(MADE), TIME), RemoveRequests)
    incident.cleans_up()
    assert isinstance(incident.sees(healthy(), TIME), End)


def test_target_without_requests_has_its_time_and_keeps_no_lease(incident: Incident) -> None:
    """Somebody deleted the request after the boot: nobody remediates it any more (NHC 2.6)."""
    incident.memory = with_lease(incident.memory, renew_at=NOW)
    assert timed(incident.sees(healthy())) == Timed(Phase.HEALTHY_DELAY, KEPT, 300)
    assert isinstance(incident.sees(healthy(), TIME), RemoveRequests)


def test_steps_that_are_taken_anew_prove_what_follows_them(incident: Incident) -> None:
    incident.memory = incident.memory.model_copy(update={"starts_over": NewStart()})
    incident.sees(unhealthy(MADE, boot_id=NEW))
    incident.cleans_up()
    incident.sees(unhealthy(boot_id=NEW))
    again = incident.acts(boot_id=NEW)
    assert phase_of(incident.sees(healthy(again, boot_id=NEW))) is Phase.REMEDIATING


def test_step_from_which_the_others_are_taken_anew_is_a_first_one(incident: Incident) -> None:
    incident.memory = incident.memory.model_copy(
        update={"starts_over": NewStart(first_step=SECOND.template.name)}
    )
    incident.sees(unhealthy(MADE, boot_id=NEW))
    incident.cleans_up()
    step = incident.sees(unhealthy(boot_id=NEW))
    assert isinstance(step, TakeStep)
    assert step.step == 1
    again = incident.acts(SECOND, NEW)
    assert phase_of(incident.sees(healthy(again, boot_id=NEW))) is Phase.REMEDIATING


def test_boot_before_a_first_step_that_did_not_say_it_stays_unknown_in_the_second() -> None:
    incident = Incident()
    over = incident.acts(boot_id="", timed_out_at=NOW)
    incident.sees(unhealthy(over, boot_id=NEW))
    second = incident.acts(SECOND, NEW)
    assert "no boot ID known from before" in told(incident.sees(healthy(over, second, boot_id=NEW)))


def test_boot_before_the_first_step_counts_in_an_escalation(incident: Incident) -> None:
    over = MADE.model_copy(update={"timed_out_at": NOW})
    incident.sees(unhealthy(over, boot_id=NEW))
    second = incident.acts(SECOND, NEW)
    assert phase_of(incident.sees(healthy(over, second))) is Phase.HEALTHY_DELAY
    assert phase_of(incident.sees(healthy(over, second, boot_id=OLD))) is Phase.REMEDIATING


def test_request_that_is_made_anew_says_what_was_before(incident: Incident) -> None:
    """Somebody deleted the first one, and the target booted by itself."""
    incident.memory = incident.memory.having_lost((MADE.reference,), unhealthy(), NOW)
    again = incident.acts(boot_id=NEW)
    assert phase_of(incident.sees(healthy(again))) is Phase.REMEDIATING
    assert phase_of(incident.sees(healthy(again, boot_id=NEWEST))) is Phase.HEALTHY_DELAY


def test_incident_that_lost_its_memory_knows_the_boot_from_the_request() -> None:
    incident = Incident()
    move = incident.sees(healthy(MADE, boot_id=OLD))
    assert isinstance(move, RenewLease)
    assert move.phase is Phase.REMEDIATING
    assert str(move.details).startswith(SAME)
    booted = with_lease(Memory(), renew_at=NOW + MINUTE)
    second = request_of(SECOND, -A_SECOND, boot_id=NEW)
    assert phase_of(Incident(booted).sees(healthy(second, MADE))) is Phase.HEALTHY_DELAY


def test_request_that_somebody_deletes_begins_nothing_in_an_incident_that_did_not_know_it() -> None:
    going = MADE.model_copy(update={"is_being_deleted": True})
    assert isinstance(Incident().sees(healthy(going, boot_id=OLD)), RemoveRequests)


def test_memory_comes_through_the_wire_with_its_proof(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    carried = Memory.model_validate_json(incident.memory.model_dump_json())
    assert carried == incident.memory
    assert isinstance(Incident(carried).sees(healthy(MADE), TIME), RemoveRequests)


def test_second_failure_after_a_whole_clean_up_has_a_boot_of_its_own(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(healthy(MADE), TIME)
    incident.cleans_up()
    incident.sees(unhealthy(boot_id=NEW))
    assert isinstance(incident.sees(healthy()), End)


def test_marked_machine_is_waited_for_until_it_booted_or_its_mark_is_taken_off() -> None:
    incident = Incident()
    before = unhealthy(steps=(MARK,))
    incident.sees(before)
    incident.memory = incident.memory.having_ordered(MARK).having_disrupted(MARK, before, None, NOW)
    marked: dict[str, Any] = {"steps": (MARK,), "is_marked": True, "under_way": "it is marked"}
    same = incident.sees(healthy(boot_id=OLD, **marked))
    assert phase_of(same) is Phase.REMEDIATING
    assert told(same).startswith(SAME)
    booted = Incident(incident.memory)
    assert phase_of(booted.sees(healthy(**marked), MINUTE)) is Phase.HEALTHY_DELAY
    assert isinstance(booted.sees(healthy(**marked), MINUTE + TIME), RemoveRequests)

    off = incident.sees(healthy(boot_id=OLD, steps=(MARK,), back_off_limit_seconds=1800), MINUTE)
    assert "somebody deleted its mark" in told(off) or phase_of(off) is Phase.HELD


def test_mark_of_another_has_the_time_alone() -> None:
    incident = Incident()
    marked: dict[str, Any] = {"steps": (MARK,), "is_marked": True, "under_way": "it is marked"}
    incident.sees(unhealthy(**marked))
    assert "no boot ID known from before" in told(incident.sees(healthy(boot_id=OLD, **marked)))


def test_nothing_is_to_be_proven_in_shadow(incident: Incident) -> None:
    """Nobody booted anything: what it made itself before is looked after as ever."""
    assert isinstance(incident.sees(healthy(MADE, boot_id=OLD, is_shadow=True)), RemoveRequests)


def test_finalizer_that_hangs_when_another_boot_comes_is_no_reason_to_wait_anew(incident: Incident) -> None:
    incident.sees(healthy(MADE))
    incident.sees(healthy(MADE), TIME)
    going = MADE.model_copy(update={"is_being_deleted": True})
    incident.cleans_up(going)
    move = incident.sees(healthy(going, boot_id=NEWEST), TIME)
    assert isinstance(move, RemoveRequests) or phase_of(move) is Phase.CLEANING_UP


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
        (NEW, TIME, ""),
        (OLD, MINUTE, ""),
        ("", MINUTE, "healthy, with no boot ID to tell whether it booted, for 1m of 5m"),
    ],
)
def test_people_are_told_how_far_the_proof_is(
    incident: Incident, boot_id: str, after: timedelta, said: str
) -> None:
    incident.sees(healthy(MADE, boot_id=boot_id))
    assert words(healthy(MADE, boot_id=boot_id), incident.memory, NOW + after) == said


def test_incident_is_woken_for_another_boot_a_gap_and_the_end_of_a_hold() -> None:
    told = healthy(MADE, boot_id=OLD)
    assert not needs_wake_up(told, told)
    assert needs_wake_up(told, healthy(MADE))
    assert needs_wake_up(healthy(MADE), healthy(MADE, last_transition=NOW + A_SECOND))
    assert needs_wake_up(healthy(MADE, boot_id=""), healthy(MADE, boot_id="", last_transition=None))
    over = MADE.model_copy(update={"timed_out_at": NOW})
    assert needs_wake_up(healthy(over, hold=HOLD), healthy(over))
    assert needs_wake_up(healthy(MADE), healthy())
    assert needs_wake_up(healthy(over, templates="1"), healthy(over, templates="2"))


def test_admission_of_a_healthy_target_is_one_that_may_be_acted_on() -> None:
    told = healthy(MADE, boot_id=OLD, seen_at=NOW, answered_at=NOW)
    assert admitted_at(told, would_act=True, before=None) == NOW
    assert told.is_outdated(NOW + TIME, timedelta(seconds=5))
    assert not told.is_admitted
    assert not healthy(MADE, boot_id=OLD, hold=HOLD).is_admitted_if_unproven


def test_request_says_which_boot_was_before_it() -> None:
    metadata = {
        "name": "node-1",
        "uid": "uid",
        "creationTimestamp": "2026-03-01T11:00:00Z",
        "annotations": {BOOT_ID: OLD},
    }
    request = RemediationRequest.model_validate({"metadata": metadata}).snapshot("example.com/v1", "Reboot")
    assert request.boot_id == OLD


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
