"""Full garbage collections examine an object once; cycles among frozen objects are found within an hour."""

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from runtime.process import (
    ALL_AGAIN_AFTER,
    FULL,
    FullCollections,
    collect_if_due,
    keep_full_collections_short,
)

OF_PYTHON = (700, 10, 10)
"""The thresholds of a process of ours; tests collect young objects less often."""


class Link:
    """One half of a cycle: it refers to the other half."""

    other: "Link"


def cycle() -> Link:
    first, second = Link(), Link()
    first.other, second.other = second, first
    return first


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The clock of the callback that is in force during the test; the objects of all tests are many."""
    monkeypatch.setattr("runtime.process.MOST_EXAMINED", sys.maxsize)
    made = Clock()
    callback = FullCollections(made)
    gc.callbacks.append(callback)
    yield made
    gc.callbacks.remove(callback)


@pytest.mark.usefixtures("clock")
def test_object_that_survives_a_full_collection_is_not_examined_again() -> None:
    held = cycle()
    gc.collect()
    assert not any(item is held for item in gc.get_objects(generation=FULL))
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("clock")
def test_cycle_that_is_garbage_at_a_full_collection_is_freed_and_not_frozen() -> None:
    freed = weakref.ref(cycle())
    gc.collect()
    assert freed() is None


def test_frozen_cycle_that_became_garbage_is_freed_after_an_hour(clock: Clock) -> None:
    held: Link | None = cycle()
    freed = weakref.ref(held)
    gc.collect()
    held = None
    gc.collect()
    assert freed() is not None

    clock.now = ALL_AGAIN_AFTER.total_seconds()
    gc.collect()
    assert freed() is None


def test_many_frozen_objects_are_not_examined_again(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.process.MOST_EXAMINED", 0)
    held: Link | None = cycle()
    freed = weakref.ref(held)
    gc.collect()
    held = None
    clock.now = ALL_AGAIN_AFTER.total_seconds()
    gc.collect()
    assert freed() is not None
    monkeypatch.setattr("runtime.process.MOST_EXAMINED", sys.maxsize)
    gc.collect()
    assert freed() is not None, "they are counted once an hour"


def test_objects_from_before_the_event_loop_are_examined_before_it_starts() -> None:
    held, others = cycle(), tuple(gc.callbacks)
    try:
        keep_full_collections_short()
        assert not any(item is held for item in gc.get_objects())
    finally:
        gc.callbacks[:] = others


@pytest.mark.usefixtures("clock")
def test_collection_after_a_large_one_does_not_wait_until_it_is_large_too() -> None:
    threshold = gc.get_threshold()
    large: list[list[int]] = [[] for _ in range(1_000_000)]
    gc.collect()
    gc.set_threshold(*OF_PYTHON)
    try:
        new: list[list[int]] = []
        while gc.get_count()[FULL] < OF_PYTHON[FULL]:
            new.append([])
        assert len(new) < len(large) / 4
        collect_if_due()
    finally:
        gc.set_threshold(*threshold)
    assert gc.get_count()[FULL] == 0
    assert not any(item is new[0] for item in gc.get_objects())
