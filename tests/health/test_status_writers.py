"""Who but us writes the status of a check."""

from datetime import timedelta
from typing import Any

import pytest

from health.status_writers import ManagedFields, StatusWriter, other_writers
from tests.health.samples import NOW, stamp

OURS = frozenset({"paramedic-detector", "paramedic-worker"})
THEIRS = "machine-healthcheck"


def wrote(manager: str, minutes_ago: float, subresource: str = "status", **other: Any) -> ManagedFields:
    entry = {"manager": manager, "operation": "Update", "time": stamp(NOW - timedelta(minutes=minutes_ago))}
    return ManagedFields.model_validate(entry | {"subresource": subresource} | other)


def found(*entries: ManagedFields) -> list[tuple[str, bool]]:
    return [(writer.manager, writer.is_over) for writer in other_writers(entries, OURS, NOW)]


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
    (writer,) = other_writers([new, old], OURS, NOW)
    assert writer == StatusWriter(THEIRS, NOW - timedelta(minutes=5), is_over=False)
