"""The runbook of an incident, as a table: what is seen and remembered, and the move that follows."""

from dataclasses import replace
from datetime import timedelta

import pytest

from health.model.details import HELD_BY_PERSON, Details, HoldWords
from health.model.moves import End, Move, Outcome, Phase, RemoveRequests, RenewLease, TakeStep, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Step, TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move
from health.runbook.escalation import lease_duration
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import ADMITTED, NOW, fact, request, request_snapshot
from tests.support.values.memories import HELD_LEASE, Timed, because, handed_over, standing, timed, with_lease

STEP = Step(
    template=TemplateReference(
        api_version="example.com/v1", kind="RebootTemplate", namespace="remediators", name="reboot"
    )
)
HOLD = Hold(reason=HoldReason.THRESHOLD, message="5 of 10 unhealthy, at most 4 allowed")
STALE = Hold(reason=HoldReason.STALE_CACHE, message="old", ask_again_seconds=10)
LATER = NOW + timedelta(minutes=10)


def in_state(state: TargetState, *requests: RequestSnapshot, hold: Hold | None = None) -> Observation:
    return Observation(
        state=state,
        reason=f"it is {state}",
        remaining_seconds=90 if state is TargetState.WAITING else 0,
        fact=fact(),
        hold=hold,
        admission=ADMITTED,
        steps=(STEP,),
        requests=requests,
    )


HEALTHY, WAITING = in_state(TargetState.HEALTHY), in_state(TargetState.WAITING)
EXPIRED, HELD = in_state(TargetState.EXPIRED), in_state(TargetState.EXPIRED, hold=HOLD)
GONE, RELEASED = in_state(TargetState.GONE), in_state(TargetState.RELEASED)
UNKNOWN = in_state(TargetState.UNKNOWN, hold=STALE)
NEW = Memory()
ACTED = Memory(requests=(request(),), has_acted=True, lease=replace(HELD_LEASE, renew_at=LATER))
CLEANED = Memory(has_acted=True)
BROKEN_OFF = Memory(lease=HELD_LEASE)
ALONE = Memory(standing=standing("abort", "maintenance"))
ALONE_ACTED = replace(ALONE, has_acted=True, requests=(request(),), lease=HELD_LEASE)
ALONE_CLEANED = replace(ALONE, has_acted=True)
ALONE_A_WHILE = Memory(standing=standing("abort", "maintenance", LATER))
HELD_BY_US = Memory(standing=standing("hold", "disk swap"))
HELD_A_WHILE = Memory(standing=standing("hold", "disk swap", LATER))
HELD_ACTED = replace(ACTED, standing=HELD_BY_US.standing)
HELD_AND_ALONE = replace(ALONE, standing=(*HELD_A_WHILE.standing, *ALONE.standing))
AT_WORK = Details(reason="it is Expired", requests="Reboot/remediators/node-1 exists")
BY_US = "held by a person: disk swap"
AS_HELD = HoldWords(short=HELD_BY_PERSON, full="disk swap", since=HELD_BY_US.standing[0].given)
HELD_DETAILS = "it is Expired; Threshold: 5 of 10 unhealthy, at most 4 allowed (asks again in 30m)"


@pytest.mark.rule(
    "NHC 2.1/13",
    "NHC 2.1/13/timer runs",
    "NHC 2.2/existing requests",
    "NHC 2.4/4",
    "rule 7",
    "rule 7/clean-up",
    "rule 7/lease",
    "rule 40",
)
@pytest.mark.parametrize(
    ("observation", "memory", "move"),
    [
        # 1. A target that is healthy, gone or released: clean up what is left, then end.
        pytest.param(
            HEALTHY, NEW, End(Outcome.RECOVERED, because("it is Healthy")), id="healthy, nothing done"
        ),
        pytest.param(HEALTHY, ACTED, RemoveRequests(because("it is Healthy")), id="healthy, request of ours"),
        pytest.param(
            HEALTHY, BROKEN_OFF, RemoveRequests(because("it is Healthy")), id="healthy, an act broke off"
        ),
        pytest.param(
            in_state(TargetState.HEALTHY, request_snapshot()),
            NEW,
            RemoveRequests(because("it is Healthy")),
            id="healthy, adopted",
        ),
        pytest.param(
            HEALTHY, CLEANED, End(Outcome.REMEDIATED, because("it is Healthy")), id="healthy, cleaned up"
        ),
        pytest.param(
            HEALTHY, ALONE_CLEANED, End(Outcome.RECOVERED, because("it is Healthy")), id="healthy, left alone"
        ),
        pytest.param(
            HEALTHY,
            ALONE_ACTED,
            RemoveRequests(because("it is Healthy")),
            id="healthy, left alone, not clean",
        ),
        pytest.param(GONE, NEW, End(Outcome.GONE, because("it is Gone")), id="gone"),
        pytest.param(GONE, ACTED, RemoveRequests(because("it is Gone")), id="gone, request of ours"),
        pytest.param(GONE, CLEANED, End(Outcome.GONE, because("it is Gone")), id="gone, cleaned up"),
        pytest.param(RELEASED, NEW, End(Outcome.RELEASED, because("it is Released")), id="released"),
        pytest.param(
            RELEASED, ACTED, RemoveRequests(because("it is Released")), id="released, request of ours"
        ),
        pytest.param(
            RELEASED, CLEANED, End(Outcome.RELEASED, because("it is Released")), id="released, cleaned up"
        ),
        # 2. Left alone by a person: clean up, then wait.
        pytest.param(
            EXPIRED,
            ALONE_ACTED,
            RemoveRequests(Details(order="left alone: maintenance")),
            id="alone, not clean",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            ALONE,
            RemoveRequests(Details(order="left alone: maintenance")),
            id="alone, a request is seen",
        ),
        pytest.param(
            UNKNOWN,
            ALONE_ACTED,
            RemoveRequests(Details(order="left alone: maintenance")),
            id="alone, the cluster state is stale",
        ),
        pytest.param(
            EXPIRED,
            ALONE,
            Timed(Phase.LEFT_ALONE, "it is Expired; left alone: maintenance"),
            id="alone until resume",
        ),
        pytest.param(
            EXPIRED,
            ALONE_A_WHILE,
            Timed(Phase.LEFT_ALONE, "it is Expired; left alone: maintenance", 600),
            id="alone for a time",
        ),
        pytest.param(
            WAITING,
            ALONE,
            Timed(Phase.LEFT_ALONE, "it is Waiting; left alone: maintenance"),
            id="alone, timer runs",
        ),
        # 4. Held by a person: hold, whatever the timer and the detector say.
        pytest.param(
            EXPIRED, HELD_BY_US, Timed(Phase.HELD, f"it is Expired; {BY_US}"), id="held by a person"
        ),
        pytest.param(
            EXPIRED, HELD_A_WHILE, Timed(Phase.HELD, f"it is Expired; {BY_US}", 600), id="held for a time"
        ),
        pytest.param(
            HELD,
            HELD_A_WHILE,
            Timed(Phase.HELD, f"it is Expired; {BY_US}", 600),
            id="held by a person and more",
        ),
        pytest.param(
            WAITING,
            HELD_BY_US,
            Timed(Phase.HELD, f"it is Waiting; {BY_US}"),
            id="held by a person, timer runs",
        ),
        pytest.param(
            UNKNOWN,
            HELD_BY_US,
            Timed(Phase.HELD, f"it is Unknown; {BY_US}"),
            id="held by a person, cannot tell",
        ),
        pytest.param(
            EXPIRED,
            HELD_ACTED,
            Timed(Phase.HELD, f"it is Expired; {BY_US}"),
            id="held by a person, somebody deleted the request",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            HELD_ACTED,
            Timed(Phase.REMEDIATING, f"it is Expired; Reboot/remediators/node-1 exists; {BY_US}", 600),
            id="held by a person, remediator works",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            replace(HELD_ACTED, standing=standing("hold", "disk swap", NOW + timedelta(seconds=5))),
            Timed(Phase.REMEDIATING, f"it is Expired; Reboot/remediators/node-1 exists; {BY_US}", 5),
            id="held for a shorter time than the Lease",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            with_lease(HELD_ACTED, renew_at=NOW),
            RenewLease(Phase.REMEDIATING, AT_WORK.model_copy(update={"holds": (AS_HELD,)})),
            id="held by a person, Lease is due",
        ),
        pytest.param(
            HEALTHY,
            HELD_BY_US,
            End(Outcome.RECOVERED, because("it is Healthy")),
            id="held by a person, healthy",
        ),
        pytest.param(
            HEALTHY,
            HELD_ACTED,
            RemoveRequests(because("it is Healthy")),
            id="held by a person, healthy, not clean",
        ),
        pytest.param(
            EXPIRED,
            HELD_AND_ALONE,
            Timed(Phase.LEFT_ALONE, "it is Expired; left alone: maintenance"),
            id="left alone and held",
        ),
        # 5. The detector cannot tell: hold.
        pytest.param(
            UNKNOWN,
            NEW,
            Timed(Phase.HELD, "it is Unknown; StaleCache: old (asks again in 10s)", 10),
            id="cannot tell",
        ),
        pytest.param(
            in_state(TargetState.UNKNOWN, request_snapshot(), hold=STALE),
            ACTED,
            Timed(Phase.REMEDIATING, "it is Unknown; Reboot/remediators/node-1 exists; StaleCache: old", 10),
            id="cannot tell, request of ours",
        ),
        pytest.param(
            in_state(TargetState.UNKNOWN), NEW, Timed(Phase.HELD, "it is Unknown"), id="was not asked"
        ),
        # 3. A request exists: let the remediator work.
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            ACTED,
            Timed(Phase.REMEDIATING, "it is Expired; Reboot/remediators/node-1 exists", 600),
            id="remediator works",
        ),
        pytest.param(
            in_state(TargetState.WAITING, request_snapshot()),
            ACTED,
            Timed(Phase.REMEDIATING, "it is Waiting; Reboot/remediators/node-1 exists", 90),
            id="remediator works, only a timer runs",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot(), hold=HOLD),
            ACTED,
            Timed(Phase.REMEDIATING, "it is Expired; Reboot/remediators/node-1 exists", 600),
            id="remediator works, new ones would be held",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            with_lease(ACTED, renew_at=NOW),
            RenewLease(Phase.REMEDIATING, AT_WORK),
            id="remediator works, Lease is due",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot()),
            NEW,
            RenewLease(Phase.REMEDIATING, AT_WORK),
            id="adopted, nobody knows until when its Lease runs",
        ),
        pytest.param(
            in_state(TargetState.EXPIRED, request_snapshot(is_being_deleted=True)),
            ACTED,
            Timed(
                Phase.REMEDIATING,
                "it is Expired; Reboot/remediators/node-1 is being deleted, and a finalizer keeps it",
                600,
            ),
            id="a request that hangs on a finalizer still counts",
        ),
        # 6. A timer runs: wait for the deadline.
        pytest.param(WAITING, NEW, Timed(Phase.WAITING, "it is Waiting", 90), id="timer runs"),
        pytest.param(
            in_state(TargetState.WAITING, hold=HOLD),
            NEW,
            Timed(Phase.WAITING, "it is Waiting", 90),
            id="timer runs, would be held",
        ),
        pytest.param(WAITING, CLEANED, Timed(Phase.WAITING, "it is Waiting", 90), id="timer runs again"),
        # 7. Not admitted: hold. Else act.
        pytest.param(HELD, NEW, Timed(Phase.HELD, HELD_DETAILS, 1800), id="held"),
        pytest.param(EXPIRED, NEW, TakeStep(0, ADMITTED, because("it is Expired")), id="admitted"),
        pytest.param(
            EXPIRED,
            BROKEN_OFF,
            TakeStep(0, ADMITTED, because("it is Expired")),
            id="admitted after an act broke off",
        ),
        pytest.param(
            EXPIRED, ACTED, TakeStep(0, ADMITTED, because("it is Expired")), id="somebody deleted the request"
        ),
    ],
)
def test_move(observation: Observation, memory: Memory, move: Move | Timed) -> None:
    completed = memory.complete(observation)
    assert timed(next_move(completed, learned(memory, completed, NOW), NOW)) == move


@pytest.mark.parametrize(
    ("move", "phase"),
    [
        (TakeStep(0, ADMITTED, because("")), Phase.ACTING),
        (RenewLease(Phase.REMEDIATING, because("")), Phase.REMEDIATING),
        (RemoveRequests(because("")), Phase.CLEANING_UP),
        (End(Outcome.GONE, because("")), Phase.ENDED),
        (Wait(phase=Phase.HELD, details=because("")), Phase.HELD),
    ],
)
def test_phase_of_a_move(move: Move, phase: Phase) -> None:
    assert move.phase is phase


@pytest.mark.rule("rule 40")
def test_order_to_leave_alone_ends_when_its_time_is_over() -> None:
    assert ALONE_A_WHILE.at(LATER - timedelta(microseconds=1)) == ALONE_A_WHILE
    assert ALONE_A_WHILE.at(LATER) == NEW


@pytest.mark.rule("rule 40")
def test_order_to_leave_alone_without_a_time_does_not_end() -> None:
    assert ALONE.at(NOW + timedelta(days=365)) == ALONE


def test_hold_ends_when_its_time_is_over() -> None:
    assert HELD_A_WHILE.at(LATER - timedelta(microseconds=1)) == HELD_A_WHILE
    assert HELD_A_WHILE.at(LATER) == NEW


def test_hold_without_a_time_does_not_end() -> None:
    assert HELD_BY_US.at(NOW + timedelta(days=365)) == HELD_BY_US


def test_end_of_one_order_ends_no_other() -> None:
    assert HELD_AND_ALONE.at(LATER) == ALONE
    both = (*HELD_BY_US.standing, *standing("abort", until=LATER))
    assert Memory(standing=both).at(LATER) == HELD_BY_US


def test_memory_survives_the_way_through_temporal() -> None:
    for memory in (NEW, ACTED, ALONE_A_WHILE, HELD_A_WHILE):
        assert handed_over(memory) == memory


@pytest.mark.rule("NHC 2.5/durations")
def test_lease_is_taken_for_ten_minutes_or_for_the_timeout_of_the_step() -> None:
    assert lease_duration(STEP) == timedelta(minutes=10)
    assert lease_duration(STEP.model_copy(update={"timeout_seconds": 90})) == timedelta(seconds=90)
