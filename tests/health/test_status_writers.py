"""Finds other writers of a check's status."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.status_writers import ManagedFields, StatusFieldManager, StatusWriters
from objects.timestamps import stamp
from tests.support.values.builders import NOW

OURS = frozenset({"paramedic-detector", "paramedic-worker"})
THEIRS = "machine-healthcheck"


def wrote(manager: str, minutes_ago: float, subresource: str = "status", **other: Any) -> ManagedFields:
    entry = {"manager": manager, "operation": "Update", "time": stamp(NOW - timedelta(minutes=minutes_ago))}
    return ManagedFields.model_validate(entry | {"subresource": subresource} | other)


def found(*entries: ManagedFields) -> list[tuple[str, bool]]:
    return [(writer.manager, writer.is_over) for writer in StatusWriters.of(entries).others(OURS, NOW)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((), []),
        ((wrote("paramedic-detector", 1),), []),
        ((wrote("paramedic-detector", 1), wrote("paramedic-worker", 2)), []),
        ((wrote(THEIRS, 1),), [(THEIRS, False)]),
        ((wrote(THEIRS, 60),), [(THEIRS, False)]),
        ((wrote(THEIRS, 61),), []),
        ((wrote(THEIRS, 61), wrote("paramedic-detector", 1)), []),
        ((wrote(THEIRS, 30), wrote("paramedic-detector", 1)), [(THEIRS, True)]),
        ((wrote(THEIRS, 1), wrote("paramedic-detector", 30)), [(THEIRS, False)]),
        ((wrote(THEIRS, 100), wrote("paramedic-detector", 200)), [(THEIRS, False)]),
        ((wrote(THEIRS, 100), wrote("paramedic-detector", 100)), []),
        ((wrote(THEIRS, 1, subresource=""),), []),
        ((wrote(THEIRS, 1, subresource="scale"),), []),
        ((wrote(THEIRS, 1, time=None),), []),
        ((wrote(THEIRS, 1), wrote("kubectl-edit", 2)), [(THEIRS, False), ("kubectl-edit", False)]),
        ((wrote("kubectl-edit", 2), wrote(THEIRS, 1)), [(THEIRS, False), ("kubectl-edit", False)]),
    ],
)
def test_writer_shows_by_an_entry_that_is_recent_or_after_ours(
    entries: tuple[ManagedFields, ...], expected: list[tuple[str, bool]]
) -> None:
    assert found(*entries) == expected


def test_manager_with_two_entries_counts_by_the_later_one() -> None:
    old, new = wrote(THEIRS, 50, apiVersion="v1beta1"), wrote(THEIRS, 5, apiVersion="v1beta2")
    (writer,) = StatusWriters.of([new, old]).others(OURS, NOW)
    assert writer == StatusFieldManager(THEIRS, NOW - timedelta(minutes=5), is_over=False)


Version = tuple[ManagedFields, ...]


def seconds_ago(manager: str, seconds: float, **other: Any) -> ManagedFields:
    return wrote(manager, seconds / 60, **other)


def after(first: Version, *later: Version) -> StatusWriters:
    writers = StatusWriters.of(first)
    for entries in later:
        writers = writers.then(entries)
    return writers


US, US_LATER = seconds_ago("paramedic-detector", 9), seconds_ago("paramedic-detector", 2)
REPAIRED: Version = (US_LATER,)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (((US,), (US_LATER,)), []),
        (((US,), (US, seconds_ago(THEIRS, 3)), REPAIRED), [(THEIRS, 1, False)]),
        (((US,), (US, seconds_ago(THEIRS, 2)), REPAIRED), [(THEIRS, 1, False)]),
        (((US,), (seconds_ago(THEIRS, 3),), (US,), (seconds_ago(THEIRS, 3),), (US,)), [(THEIRS, 2, False)]),
        (((US,), (US, seconds_ago(THEIRS, 5)), (US, seconds_ago(THEIRS, 4))), [(THEIRS, 2, False)]),
        (
            ((US,), (seconds_ago(THEIRS, 5),), (seconds_ago("kubectl-edit", 4),)),
            [("kubectl-edit", 1, False), (THEIRS, 1, False)],
        ),
        (((US,), (US, seconds_ago(THEIRS, 3, subresource="")), (US,)), []),
        (((US,), (US, seconds_ago(THEIRS, 3, subresource="scale")), (US,)), []),
        (((US, seconds_ago(THEIRS, 3)), REPAIRED), [(THEIRS, 0, True)]),
        (((US, seconds_ago(THEIRS, 30)), (US_LATER, seconds_ago(THEIRS, 30))), [(THEIRS, 0, True)]),
        (((US, wrote(THEIRS, 61)), (US_LATER, wrote(THEIRS, 61))), []),
        (((US,), (US, wrote(THEIRS, 61)), REPAIRED), [(THEIRS, 1, False)]),
    ],
    ids=[
        "we alone",
        "once, made true by us later",
        "once, made true by us in the same second",
        "twice in one second",
        "twice, and nobody made it true",
        "two of them",
        "not the status",
        "another subresource",
        "before the first version",
        "before the first version, the entry stays",
        "long ago, the entry stays",
        "by a clock that is an hour late",
    ],
)
def test_write_shows_between_two_versions_though_we_write_after_it(
    versions: tuple[Version, ...], expected: list[tuple[str, int, bool]]
) -> None:
    others = after(*versions).others(OURS, NOW)
    assert [(other.manager, other.seen, other.is_over) for other in others] == expected


def test_entry_that_goes_back_in_time_is_no_write_that_was_seen() -> None:
    newer, older = seconds_ago(THEIRS, 3, apiVersion="v1beta2"), seconds_ago(THEIRS, 8, apiVersion="v1beta1")
    (writer,) = after((newer, older), (older,)).others(OURS, NOW)
    assert (writer.seen, writer.last) == (0, NOW - timedelta(seconds=3))


@given(st.lists(st.lists(st.tuples(st.sampled_from([THEIRS, "kubectl-edit", *OURS]), st.integers(0, 9000)))))
def test_further_versions_only_add_writers(versions: list[list[tuple[str, int]]]) -> None:
    writers, seen = StatusWriters.of(()), 0
    for version in versions:
        writers = writers.then([seconds_ago(manager, ago) for manager, ago in version])
        others = writers.others(OURS, NOW)
        assert {other.manager for other in others}.isdisjoint(OURS)
        assert sum(other.seen for other in others) >= seen
        assert not any(other.seen and other.is_over for other in others)
        seen = sum(other.seen for other in others)
