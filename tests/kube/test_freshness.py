"""As of when a cache is true."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.consistent_read import Freshness, has_reached, is_earlier


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def freshness(clock: Clock) -> Freshness:
    made = Freshness(clock)
    made.listed("7", 100.0)
    return made


def test_there_is_no_age_before_the_first_list(clock: Clock) -> None:
    assert Freshness(clock).age() is None


def test_list_is_as_old_as_its_first_page(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 10
    freshness.listed("8", 103.0)
    assert freshness.age() == timedelta(seconds=7)


def test_read_proves_nothing_before_its_version_was_reported(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 20
    freshness.read("9", 118.0)
    freshness.reached("8")
    assert freshness.age() == timedelta(seconds=20)

    freshness.reached("9")
    assert freshness.age() == timedelta(seconds=2)


def test_read_of_a_reported_object_proves_at_once(freshness: Freshness, clock: Clock) -> None:
    clock.seconds += 20
    freshness.read("7", 118.0)
    assert freshness.age() == timedelta(seconds=2)


@pytest.mark.rule("rule 3")
def test_change_without_a_read_proves_nothing(freshness: Freshness, clock: Clock) -> None:
    for version in ("7", "7", "8", "9"):
        clock.seconds += 10
        freshness.reached(version)
    assert freshness.age() == timedelta(seconds=40)


def test_stream_that_lags_proves_the_earlier_reads(freshness: Freshness, clock: Clock) -> None:
    for version, sent in (("10", 110.0), ("20", 120.0), ("30", 130.0)):
        clock.seconds = sent + 1
        freshness.read(version, sent)
    freshness.reached("25")
    assert freshness.as_of == 120.0
    assert freshness.is_behind


def test_cache_was_behind_where_a_read_was_answered_before(freshness: Freshness, clock: Clock) -> None:
    assert not freshness.was_behind(1000.0)
    clock.seconds = 110.0
    freshness.read("9", 105.0)
    assert freshness.was_behind(110.0)
    assert not freshness.was_behind(109.0)
    freshness.listed("9", 112.0)
    assert not freshness.is_behind


VERSIONS = st.integers(min_value=0, max_value=50)
HAPPENED = st.lists(st.tuples(st.sampled_from(("write", "read", "tell", "list")), VERSIONS), max_size=60)


@given(HAPPENED)
def test_cache_is_never_reported_as_younger_than_it_is(happened: list[tuple[str, int]]) -> None:
    """Beside a store, and streams that tell its versions in order, however late."""
    clock = Clock()
    freshness = Freshness(clock)
    store, told = 1, 1
    true_as_of = {1: clock.seconds}  # by version: the last moment at which the store was at it
    freshness.listed("1", clock.seconds)
    for what, number in happened:
        clock.seconds += 1
        if what == "write":
            store += number
        elif what == "read":
            freshness.read(str(store), clock.seconds)
        elif what == "tell":
            told = min(store, told + number)
            freshness.reached(str(told))
        else:
            told = store
            freshness.listed(str(store), clock.seconds)
        true_as_of[store] = clock.seconds
        as_of = freshness.as_of
        assert as_of is not None
        assert as_of <= max(moment for version, moment in true_as_of.items() if version <= told)


@pytest.mark.parametrize(
    ("position", "version", "reached", "earlier"),
    [
        ("9", "10", False, False),
        ("10", "10", True, False),
        ("11", "10", True, True),
        ("a", "a", True, False),
        ("b", "a", False, False),
        ("10", "a", False, False),
        ("", "1", False, False),
    ],
)
def test_versions_are_compared_as_numbers(
    position: str, version: str, *, reached: bool, earlier: bool
) -> None:
    assert has_reached(position, version) is reached
    assert is_earlier(version, position) is earlier
