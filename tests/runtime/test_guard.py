"""The failure of one item ends nothing else, is logged once with its traceback, and is counted."""

import asyncio
import logging

import pytest
from prometheus_client import CollectorRegistry

from runtime.guard import MOST_REMEMBERED, Guard

pytestmark = pytest.mark.rule("rule 8/incident")


def fail(guard: Guard, name: str, error: Exception) -> None:
    with guard.item("answers", name):
        raise error


def test_failure_is_handed_to_the_caller_and_goes_no_further() -> None:
    error = OverflowError("date value out of range")

    with Guard().item("answers", "node-1") as caught:
        raise error

    assert caught.error is error


def test_each_sort_of_failure_of_an_item_is_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard = Guard()
    for error in (ValueError("one"), ValueError("two"), KeyError("one")):
        fail(guard, "node-1", error)
    fail(guard, "node-2", ValueError("one"))

    told = [(getattr(record, "item", ""), record.exc_info[0]) for record in caplog.records if record.exc_info]
    assert told == [("node-1", ValueError), ("node-1", KeyError), ("node-2", ValueError)]
    assert all(record.levelno == logging.ERROR for record in caplog.records)


def test_every_failure_is_counted_by_the_part_that_it_is_of() -> None:
    registry = CollectorRegistry()
    guard = Guard(registry)
    for _ in range(3):
        fail(guard, "node-1", ValueError())

    assert registry.get_sample_value("paramedic_internal_errors_total", {"part": "answers"}) == 3


def test_part_that_never_failed_has_a_series() -> None:
    registry = CollectorRegistry()
    with Guard(registry).item("answers", "node-1"):
        pass

    assert registry.get_sample_value("paramedic_internal_errors_total", {"part": "answers"}) == 0


def test_no_more_failures_are_remembered_than_fit(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()
    for number in range(MOST_REMEMBERED + 1):
        fail(guard, f"node-{number}", ValueError())
    caplog.clear()

    fail(guard, f"node-{MOST_REMEMBERED}", ValueError())
    assert not caplog.records
    fail(guard, "node-0", ValueError())
    assert len(caplog.records) == 1


def test_cancellation_goes_through() -> None:
    guard = Guard()
    with pytest.raises(asyncio.CancelledError), guard.item("answers", "node-1"):
        raise asyncio.CancelledError


def test_guarded_handler_handles_the_items_after_one_that_fails() -> None:
    handled: list[int] = []

    def handle(item: int) -> None:
        handled.append(10 // item)

    guarded = Guard().handler("nodes", str, handle)
    for item in (5, 0, 2):
        guarded(item)
    assert handled == [2, 5]
