"""Decides whether an upgrade pause should run, and when a change wakes it.

One should run during an upgrade, even without checks, and afterwards as long as a check has our mark. A
person's order keeps a running one open. None should be started if a setting turns the pause off, because a
mark may then be another tool's.
"""

from datetime import datetime

from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck


def is_wanted(seen: UpgradeObservation) -> bool:
    """True if an upgrade pause should run."""
    if seen.is_turned_off:
        return False
    return seen.is_under_way or (seen.is_over and bool(_marked(seen)))


def needs_wake_up(last: UpgradeObservation, seen: UpgradeObservation) -> bool:
    """True if a pause that was answered `last` must be woken; other edits of checks do not matter."""
    return _news(last) != _news(seen)


def has_appeared(last: UpgradeObservation, seen: UpgradeObservation) -> bool:
    """True for a new upgrade or a new mark, which a pause started from `last` could not have seen."""
    began = seen.is_under_way and not (last.is_under_way and last.transitions == seen.transitions)
    return began or not _marked(seen) <= _marked(last)


def _news(
    seen: UpgradeObservation,
) -> tuple[str, str, datetime | None, tuple[datetime, ...], bool, frozenset[tuple[str, bool, bool, bool]]]:
    """The relevant facts. They have `why_unknown`, but not `unread`, whose text changes every second."""
    return (
        seen.phase,
        seen.why_unknown,
        seen.since,
        seen.transitions,
        bool(seen.unread),
        frozenset(map(_stands, seen.checks)),
    )


def _stands(check: PausableCheck) -> tuple[str, bool, bool, bool]:
    return check.uid, check.is_paused, check.is_marked, check.is_going


def _marked(seen: UpgradeObservation) -> frozenset[str]:
    """The uids of marked checks, except those being deleted."""
    return frozenset(check.uid for check in seen.checks if check.is_marked and not check.is_going)
