"""The runbook has a next move for whatever was seen and remembered; it waits a finite time."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from detector.metrics.live_metrics import observed_hold, observed_phase
from health.model.moves import LONGEST_WAIT, AnnotationPatch, Move, Phase, Wait
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import Blocks, OrderRecord
from health.model.references import Action, Step
from health.model.remediation_request import GREW_OLD, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import Fact
from health.runbook.decide import next_move
from health.runbook.incident import becomes_overdue_at
from health.runbook.learn import learned
from health.runbook.memory_parts import Disruption, LeaseMemory, LeaseState, Loss, NewStart, RecoveryMemory
from health.runbook.state import Memory
from health.runbook.wake_up import needs_wake_up
from health.runbook.words import recovery_words
from objects.bounds import EARLIEST, LATEST
from tests.support.values.builders import REBOOT, request
from tests.support.values.extremes import COUNTS, NUMBERS, TEXTS, TIMES, sometimes
from tests.support.values.memories import handed_over

pytestmark = pytest.mark.rule("rule 8/incident")

NOWS = st.datetimes(datetime(1971, 1, 1), datetime(7999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  st adds it
NAMES = st.sampled_from(["reboot", "reset", ""])
BOOTS = st.sampled_from(["boot-1", "boot-2", ""])
REQUESTS = st.builds(request, st.sampled_from(["uid-1", "uid-2"]), NAMES)
PATCHES = st.builds(
    AnnotationPatch,
    request=REQUESTS,
    annotations=st.dictionaries(
        st.sampled_from([TIMED_OUT, HEALTHY_DELAY, GREW_OLD]),
        sometimes(TEXTS | TIMES.map(lambda time: time.isoformat())),
    ),
)
STEPS = st.builds(
    Step,
    template=NAMES.map(lambda name: REBOOT.model_copy(update={"name": name})),
    timeout_seconds=sometimes(NUMBERS),
    action=st.sampled_from(Action),
)
REQUEST_SNAPSHOTS = st.builds(
    RequestSnapshot,
    reference=REQUESTS,
    created=TIMES,
    is_being_deleted=st.booleans(),
    succeeded=sometimes(st.booleans()),
    is_node_deletion_expected=st.booleans(),
    timed_out_at=sometimes(TIMES),
    healthy_since=sometimes(TIMES),
    is_flagged_as_old=st.booleans(),
    boot_id=BOOTS,
)
OBSERVATIONS = st.builds(
    Observation,
    state=st.sampled_from(TargetState),
    reason=TEXTS,
    remaining_seconds=NUMBERS,
    fact=sometimes(st.builds(Fact, condition=TEXTS, status=TEXTS, since=TIMES, is_moving=st.booleans())),
    hold=sometimes(
        st.builds(Hold, reason=st.sampled_from(HoldReason), message=TEXTS, ask_again_seconds=NUMBERS)
    ),
    steps=st.lists(STEPS, max_size=3).map(tuple),
    under_way=TEXTS,
    is_marked=st.booleans(),
    requests=st.lists(REQUEST_SNAPSHOTS, max_size=2).map(tuple),
    lease_acquired_at=sometimes(TIMES),
    healthy_delay_seconds=NUMBERS,
    is_replaced=st.booleans(),
    counts_as_healthy=st.booleans(),
    is_confirmed=st.booleans(),
    earlier_attempts=COUNTS,
    back_off_limit_seconds=NUMBERS,
    proven_recovery_seconds=NUMBERS,
    boot_id=BOOTS,
    last_transition=sometimes(TIMES),
    answered_at=sometimes(TIMES),
)
ORDERS = st.builds(
    OrderRecord,
    order=NAMES,
    reason=TEXTS,
    given=TIMES,
    until=sometimes(TIMES),
    blocks=sometimes(st.sampled_from(Blocks)),
)
LEASES = st.builds(
    LeaseMemory,
    state=st.sampled_from(LeaseState),
    duration_seconds=NUMBERS,
    acquired_at=sometimes(TIMES),
    observed_at=sometimes(TIMES),
    request_acquired_at=sometimes(TIMES),
    renew_at=sometimes(TIMES),
)
RECOVERIES = st.builds(
    RecoveryMemory,
    has_begun=st.booleans(),
    boot_id_before=sometimes(BOOTS),
    healthy_since=sometimes(TIMES),
    boot_id=BOOTS,
    last_transition=sometimes(TIMES),
)
MEMORIES = st.builds(
    Memory,
    requests=st.lists(REQUESTS, max_size=2).map(tuple),
    has_acted=st.booleans(),
    lease=LEASES,
    recovery=RECOVERIES,
    spent=st.lists(STEPS.map(lambda step: step.template), max_size=2).map(tuple),
    disruption=st.builds(Disruption, action=sometimes(st.sampled_from(Action)), at=sometimes(TIMES)),
    is_marked=st.booleans(),
    patches=st.lists(PATCHES, max_size=2).map(tuple),
    loss=sometimes(st.builds(Loss, at=TIMES, attempt=COUNTS)),
    attempt=COUNTS,
    skips_back_off=st.booleans(),
    starts_over=sometimes(st.builds(NewStart, first_step=NAMES)),
    standing=st.lists(ORDERS, max_size=3).map(tuple),
).map(handed_over)


@given(OBSERVATIONS, MEMORIES, NOWS)
def test_whatever_was_seen_and_remembered_has_a_next_move_that_waits_a_week_at_most(
    seen: Observation, memory: Memory, now: datetime
) -> None:
    known = memory.at(now)
    whole = known.complete(seen)
    move = next_move(whole, learned(known, whole, now), now)

    assert isinstance(move, Move)
    assert move.phase in Phase
    if isinstance(move, Wait) and (timer := move.requeue_after(now)) is not None:
        assert timedelta() <= timer <= LONGEST_WAIT


@given(OBSERVATIONS, MEMORIES, NOWS)
def test_every_observation_has_a_next_transition(seen: Observation, memory: Memory, now: datetime) -> None:
    assert next_move(seen, memory, now).next_transition.what
    becomes_overdue_at(seen, memory)
    recovery_words(seen, memory, now)


@given(OBSERVATIONS, OBSERVATIONS, NOWS)
def test_any_two_answers_can_be_compared_and_counted(
    one: Observation, other: Observation, now: datetime
) -> None:
    needs_wake_up(one, other)
    observed_phase(one, now)
    observed_hold(one, now)


@given(OBSERVATIONS, MEMORIES)
def test_observations_and_memories_survive_the_wire(seen: Observation, memory: Memory) -> None:
    assert Observation.model_validate_json(seen.model_dump_json()) == seen
    assert handed_over(memory) == memory


@given(TIMES)
def test_times_beyond_the_bounds_count_as_the_bound_and_others_as_they_are(time: datetime) -> None:
    known = Fact(condition="Ready", status="False", since=time).since

    assert EARLIEST <= known <= LATEST
    assert known == time or known in (EARLIEST, LATEST)


def test_nan_and_time_without_a_zone_are_refused_by_field() -> None:
    with pytest.raises(ValidationError, match=r"remaining_seconds\n.*must be a number"):
        Observation(state=TargetState.WAITING, reason="", remaining_seconds=math.nan)
    with pytest.raises(ValidationError, match=r"since\n.*has no time zone"):
        Fact(condition="Ready", status="False", since=datetime(2026, 3, 1))  # noqa: DTZ001  that is the point
