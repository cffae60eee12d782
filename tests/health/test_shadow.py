"""An incident in shadow goes by the runbook, writes nothing, and records what it would have done."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.moves import (
    End,
    Move,
    Outcome,
    Phase,
    RecordStep,
    RemoveRequests,
    RenewLease,
    TakeStep,
    Wait,
)
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Action, Step
from health.policy.policy import Policy
from health.policy.policy_in_force import NO_OBJECT, SHADOW, UNREAD, PolicyInForce, is_in_shadow
from health.runbook.decide import next_move
from health.runbook.learn import learned, with_recorded_step
from health.runbook.memory_parts import NewStart
from health.runbook.state import Memory
from health.runbook.wake_up import needs_wake_up
from tests.support.values.builders import (
    ESCALATION,
    FIRST,
    MINUTE,
    NOW,
    SECOND,
    classic,
    request_of,
    request_snapshot,
    seen,
)
from tests.support.values.memories import ACTED, standing

pytestmark = pytest.mark.rule("rule 43")

THRESHOLD = Hold(reason=HoldReason.THRESHOLD, message="too many")
THEIRS = request_snapshot("theirs")


NOTHING_KNOWN = Memory()


class Incident:
    """Goes on as the workflow does, and keeps every move."""

    def __init__(self, memory: Memory = NOTHING_KNOWN) -> None:
        self.memory = memory
        self.moves: list[Move] = []

    def sees(self, observation: Observation, now: datetime = NOW, *, is_shadow: bool | None = True) -> Move:
        """The last move before it waits or asks again."""
        observed = observation.model_copy(update={"is_shadow": is_shadow})
        while True:
            self.memory = learned(self.memory.at(now), observed, now)
            move = next_move(observed, self.memory, now)
            self.moves.append(move)
            if not isinstance(move, RecordStep):
                return move
            self.memory = with_recorded_step(self.memory, move.step, observed, now)

    @property
    def would_have(self) -> list[str]:
        return [step.template.name or step.action for step in self.memory.shadow.steps]

    @property
    def others(self) -> list[tuple[str, bool]]:
        """The record of other controllers' actions, with its end."""
        return [(other.request, other.ended is not None) for other in self.memory.shadow.others]


HEALTHY = seen(state=TargetState.HEALTHY)


@pytest.mark.parametrize(
    ("annotations", "policy", "is_shadow"),
    [
        ({}, NO_OBJECT, False),
        ({SHADOW: "true"}, NO_OBJECT, True),
        ({SHADOW: "false"}, NO_OBJECT, False),
        ({SHADOW: "yes"}, NO_OBJECT, True),
        ({SHADOW: ""}, NO_OBJECT, True),
        ({}, PolicyInForce(policy=Policy(shadow=True)), True),
        ({SHADOW: "false"}, PolicyInForce(policy=Policy(shadow=True)), True),
        ({}, UNREAD, True),
    ],
)
def test_check_is_in_shadow_by_its_annotation_or_by_the_policy_and_when_unknown(
    annotations: dict[str, str],
    policy: PolicyInForce,
    is_shadow: bool,  # noqa: FBT001
) -> None:
    assert is_in_shadow(annotations, policy) is is_shadow


def test_steps_are_recorded_as_their_time_comes_and_the_end_says_what_would_have_been_done() -> None:
    incident = Incident()
    timeout = timedelta(seconds=FIRST.timeout_seconds or 0)

    first = incident.sees(seen())
    assert isinstance(first, Wait)
    assert (first.phase, incident.would_have) == (Phase.REMEDIATING, [FIRST.template.name])
    assert first.requeue_after(NOW) == pytest.approx(timeout, abs=timedelta(seconds=1))
    assert "in shadow, would have taken: " in str(first.details)
    later = NOW + timeout + MINUTE
    incident.sees(seen(), later)
    assert incident.would_have == [FIRST.template.name, SECOND.template.name]
    end = incident.sees(HEALTHY, later + MINUTE)

    assert isinstance(end, End)
    assert end.outcome is Outcome.WOULD_HAVE_REMEDIATED
    assert [step.at for step in incident.memory.shadow.steps] == [NOW, later]


@pytest.mark.parametrize(
    ("observation", "phase"),
    [
        (seen(state=TargetState.WAITING), Phase.WAITING),
        (seen(hold=THRESHOLD), Phase.HELD),
        (seen(state=TargetState.UNKNOWN, hold=THRESHOLD), Phase.HELD),
    ],
)
def test_hold_also_holds_in_shadow(observation: Observation, phase: Phase) -> None:
    incident = Incident()
    move = incident.sees(observation)

    assert isinstance(move, Wait)
    assert (move.phase, incident.would_have) == (phase, [])
    end = incident.sees(HEALTHY)
    assert isinstance(end, End)
    assert end.outcome is Outcome.RECOVERED


def test_request_of_the_present_controller_is_recorded_beside_and_waited_for_at_the_end() -> None:
    incident = Incident()
    incident.sees(seen(THEIRS))
    assert (incident.would_have, incident.others) == ([FIRST.template.name], [(str(THEIRS.reference), False)])
    assert not incident.memory.owns_something

    waits = incident.sees(HEALTHY.model_copy(update={"requests": (THEIRS,)}), NOW + MINUTE)
    assert isinstance(waits, Wait)
    assert waits.phase is Phase.CLEANING_UP
    end = incident.sees(HEALTHY, NOW + 2 * MINUTE)

    assert isinstance(end, End)
    assert incident.others == [(str(THEIRS.reference), True)]
    assert incident.memory.attempt == 0


@pytest.mark.parametrize("action", [Action.DELETE, Action.MARK])
def test_deletion_and_mark_are_recorded_once_and_those_of_others_beside(action: Action) -> None:
    incident = Incident()
    steps = (Step(action=action),)
    incident.sees(seen(steps=steps))
    rests = incident.sees(seen(steps=steps, under_way="it is being deleted", is_marked=True), NOW + MINUTE)

    assert isinstance(rests, Wait)
    assert (rests.phase, incident.would_have) == (Phase.REMEDIATING, [action])
    assert incident.others == [("it is being deleted", False)]
    end = incident.sees(seen(state=TargetState.GONE), NOW + 2 * MINUTE)
    assert isinstance(end, End)
    assert end.outcome is Outcome.WOULD_HAVE_REMEDIATED


def test_requests_from_before_the_shadow_are_kept_and_cleaned_up_and_nothing_new_is_done() -> None:
    own = request_of(FIRST)
    real = learned(ACTED, seen(own), NOW)
    incident = Incident(real)
    renewal = incident.sees(seen(own), NOW + 5 * MINUTE)
    assert isinstance(renewal, RenewLease)

    late = NOW + timedelta(seconds=FIRST.timeout_seconds or 0) + MINUTE
    timed_out = own.model_copy(update={"timed_out_at": late})
    incident.memory = replace(incident.memory, lease=ACTED.lease.renewed(None, late))
    incident.sees(seen(timed_out), late)
    assert incident.would_have == [SECOND.template.name]
    clean_up = incident.sees(HEALTHY.model_copy(update={"requests": (timed_out, THEIRS)}), late + MINUTE)
    assert isinstance(clean_up, RemoveRequests)
    assert [request.uid for request in incident.memory.requests] == [own.uid]


def test_deletion_is_recorded_once_though_a_request_of_ours_exists() -> None:
    own = request_of(FIRST)
    incident = Incident(learned(ACTED, seen(own), NOW))
    steps = (Step(action=Action.DELETE),)
    rests = incident.sees(seen(own.model_copy(update={"succeeded": False, "timed_out_at": NOW}), steps=steps))

    assert isinstance(rests, Wait)
    assert incident.would_have == [Action.DELETE]


def test_once_the_shadow_is_left_the_steps_are_taken_and_what_exists_is_adopted() -> None:
    incident = Incident()
    incident.sees(seen())
    assert incident.would_have == [FIRST.template.name]

    act = incident.sees(seen(), NOW + MINUTE, is_shadow=False)
    assert isinstance(act, TakeStep)
    assert act.step == 0
    incident.sees(seen(request_of(FIRST)), NOW + MINUTE, is_shadow=False)
    assert incident.memory.owns_something


def test_steps_of_an_earlier_shadow_do_not_count_in_another_one() -> None:
    incident = Incident()
    incident.sees(seen(steps=(FIRST,)))
    incident.sees(seen(steps=(FIRST,), hold=THRESHOLD), is_shadow=False)
    incident.sees(seen(steps=(FIRST,)), NOW + MINUTE)

    assert incident.would_have == [FIRST.template.name] * 2


def test_check_that_is_gone_leaves_the_incident_in_the_shadow_that_it_was_in() -> None:
    incident = Incident()
    incident.sees(seen(THEIRS))
    move = incident.sees(
        HEALTHY.model_copy(update={"state": TargetState.RELEASED, "requests": (THEIRS,)}), is_shadow=None
    )

    assert isinstance(move, Wait)


def test_orders_of_people_hold_in_shadow() -> None:
    held = Incident(Memory(standing=standing("hold", "disk swap")))
    assert isinstance(held.sees(seen(THEIRS)), Wait)
    alone = Incident(Memory(standing=standing("abort", "power work")))
    move = alone.sees(seen(THEIRS))

    assert isinstance(move, Wait)
    assert move.phase is Phase.LEFT_ALONE
    assert (held.would_have, alone.would_have) == ([], [])


def test_abort_after_a_recorded_step_leaves_the_target_alone() -> None:
    incident = Incident()
    incident.sees(seen(steps=(FIRST,)))
    assert incident.would_have == [FIRST.template.name]
    incident.memory = replace(incident.memory, standing=standing("abort", "power work"))
    move = incident.sees(seen(steps=(FIRST,)))

    assert isinstance(move, Wait)
    assert move.phase is Phase.LEFT_ALONE


def test_confirmation_of_a_person_stays_for_the_controller_that_keeps_the_requests() -> None:
    incident = Incident()
    incident.sees(seen(THEIRS))
    move = incident.sees(HEALTHY.model_copy(update={"is_confirmed": True}))

    assert isinstance(move, End)


def test_steps_are_begun_anew_by_order() -> None:
    incident = Incident()
    incident.sees(seen(steps=(FIRST,)))
    late = NOW + timedelta(seconds=FIRST.timeout_seconds or 0) + MINUTE
    exhausted = incident.sees(seen(steps=(FIRST,)), late)
    assert isinstance(exhausted, Wait)
    assert exhausted.phase is Phase.EXHAUSTED

    incident.memory = replace(incident.memory, starts_over=NewStart())
    incident.sees(seen(steps=(FIRST,)), late)
    assert incident.would_have == [FIRST.template.name] * 2


@pytest.mark.parametrize(
    ("last", "now", "is_woken"),
    [
        ({"is_shadow": False}, {"is_shadow": True}, True),
        ({"is_shadow": True}, {"is_shadow": False}, True),
        ({"is_shadow": True}, {"is_shadow": None}, False),
        ({"is_shadow": True}, {"is_shadow": True, "requests": (THEIRS,)}, True),
        ({"is_shadow": True, "requests": (THEIRS,)}, {"is_shadow": True}, True),
        ({"is_shadow": True}, {"is_shadow": True, "under_way": "it is being deleted"}, True),
        ({"is_shadow": True}, {"is_shadow": True}, False),
        (
            {"is_shadow": True, "requests": (THEIRS,), "hold": THRESHOLD},
            {"is_shadow": True, "requests": (THEIRS,)},
            True,
        ),
    ],
)
def test_incident_is_woken_for_all_that_it_records(
    last: dict[str, object],
    now: dict[str, object],
    is_woken: bool,  # noqa: FBT001
) -> None:
    before, after = classic().model_copy(update=last), classic().model_copy(update=now)
    assert needs_wake_up(before, after) is is_woken


WORLDS = st.builds(
    lambda state, requests, hold, under_way, minutes: (
        seen(*requests, state=state, hold=hold, under_way=under_way, steps=ESCALATION),
        timedelta(minutes=minutes),
    ),
    st.sampled_from(TargetState),
    st.lists(st.sampled_from([THEIRS, request_of(FIRST), request_of(SECOND)]), unique_by=lambda one: one.uid),
    st.sampled_from([None, THRESHOLD]),
    st.sampled_from(["", "it is being deleted"]),
    st.integers(0, 5000),
)


@given(st.lists(WORLDS, max_size=12), st.sampled_from([True, None]))
def test_whatever_is_seen_nothing_is_written_in_shadow(
    worlds: list[tuple[Observation, timedelta]],
    later: bool | None,  # noqa: FBT001
) -> None:
    incident, now = Incident(), NOW
    for number, (observation, passed) in enumerate(worlds):
        now += passed
        move = incident.sees(observation, now, is_shadow=True if number == 0 else later)
        if isinstance(move, End):
            break
    assert all(isinstance(move, Wait | RecordStep | End) for move in incident.moves)
    assert not incident.memory.owns_something
