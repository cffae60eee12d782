"""How patient a reflector may be, so that a quiet cluster is never taken for a stale one."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.reflector_settings import ENDING, PATIENT, SHORTEST_LIMIT, Watching

LIMITS = st.timedeltas(min_value=SHORTEST_LIMIT, max_value=timedelta(hours=1))
BOOKMARK = timedelta(seconds=3.3)
"""How long after the read that is due the last bookmark of a watch comes: see ENDING."""


@pytest.mark.parametrize("limit", [30, 31, 60, 600])
def test_a_limit_of_half_a_minute_or_more_leaves_all_as_it_is(limit: int) -> None:
    assert PATIENT.proving_life_within(timedelta(seconds=limit)) == PATIENT


@given(LIMITS)
def test_quiet_kind_is_proven_fresh_within_the_limit(limit: timedelta) -> None:
    every = PATIENT.proving_life_within(limit).watching.proof_every
    assert every + BOOKMARK <= limit


@given(st.timedeltas(min_value=timedelta(seconds=20), max_value=timedelta(hours=1)))
def test_there_is_time_for_a_second_watch_where_the_first_proved_nothing(limit: timedelta) -> None:
    watching = PATIENT.proving_life_within(limit).watching
    assert watching.proof_every + ENDING + watching.lasting(timedelta(0)) < limit


@given(LIMITS)
def test_kind_that_is_not_served_is_asked_for_within_the_limit(limit: timedelta) -> None:
    assert PATIENT.proving_life_within(limit).waits.absent < limit


@given(
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(minutes=10)),
    st.timedeltas(min_value=-timedelta(minutes=10), max_value=timedelta(minutes=10)),
)
def test_watch_ends_right_after_the_next_read_in_whole_seconds(every: timedelta, until: timedelta) -> None:
    watching = Watching(proof_every=every)
    lasting = watching.lasting(until)
    assert lasting % timedelta(seconds=1) == timedelta(0)
    assert ENDING <= lasting <= every + ENDING + timedelta(seconds=1)
    if timedelta(0) <= until <= every:
        assert ENDING <= lasting - until < ENDING + timedelta(seconds=1)
    assert watching.silent_for(lasting) <= max(watching.silence, lasting + ENDING)
