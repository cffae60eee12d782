"""The time that each phase of an incident took, by the entries of its history."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.incidents.incident_record import phase_times
from cli.incidents.story import Episode
from health.model.moves import Phase
from tests.support.values.builders import MINUTE, NOW

WORDS = ["started", "hold", "completed", *Phase]


def episode(what: str, after: timedelta) -> Episode:
    return Episode(when=NOW + after, what=what, words="")


def times(*entries: tuple[str, float], end: float) -> list[tuple[Phase, float]]:
    story = [episode(what, minutes * MINUTE) for what, minutes in entries]
    return [(one.phase, one.seconds / 60) for one in phase_times(story, NOW + end * MINUTE)]


def test_first_phase_begins_with_the_incident_and_the_last_one_ends_with_it() -> None:
    found = times(("started", 0), ("Waiting", 1), ("Acting", 5), ("Remediating", 6), end=10)
    assert found == [(Phase.WAITING, 5), (Phase.ACTING, 1), (Phase.REMEDIATING, 4)]


def test_phase_that_begins_twice_has_the_sum_of_both_times() -> None:
    found = times(("started", 0), ("Held", 0), ("Remediating", 2), ("Held", 3), end=7)
    assert found == [(Phase.HELD, 6), (Phase.REMEDIATING, 1)]


def test_order_of_a_person_begins_no_phase() -> None:
    found = times(("started", 0), ("Waiting", 0), ("hold", 1), ("Held", 3), ("completed", 4), end=4)
    assert found == [(Phase.WAITING, 3), (Phase.HELD, 1)]


@pytest.mark.parametrize("entries", [(), (("started", 0),), (("started", 0), ("terminated", 1))])
def test_history_without_a_phase_has_no_times(entries: tuple[tuple[str, float], ...]) -> None:
    assert times(*entries, end=1) == []


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 600)), max_size=12))
def test_times_are_never_negative_and_last_as_long_as_the_incident(entries: list[tuple[str, int]]) -> None:
    ordered = sorted(entries, key=lambda entry: entry[1])
    story = [episode(what, timedelta(seconds=after)) for what, after in ordered]
    found = phase_times(story, NOW + timedelta(seconds=600))
    assert all(one.seconds >= 0 for one in found)
    if found:
        assert sum(one.seconds for one in found) == 600 - ordered[0][1]
        assert {one.phase for one in found} == {what for what, _ in ordered if what in set(Phase)}
