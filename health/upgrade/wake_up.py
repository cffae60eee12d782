"""Decides whether an upgrade pause should run, and when a change wakes it.

One should run during an upgrade, even without checks, and afterwards as long as a check has our mark. A
person's order keeps a running one open. None should be started if a setting turns the pause off, because a
mark may then be another tool's.
"""

from datetime import datetime

from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck


def is_wanted(observation: UpgradeObservation) -> bool:
    """True if an upgrade pause should run."""
    if observation.is_turned_off:
        return False
    return observation.is_under_way or (observation.is_over and bool(_marked(observation)))


def needs_wake_up(last: UpgradeObservation, observation: UpgradeObservation) -> bool:
    """True if a pause that was answered `last` must be woken; other edits of checks do not matter."""
    return _news(last) != _news(observation)


def has_appeared(last: UpgradeObservation, observation: UpgradeObservation) -> bool:
    """True for a new upgrade or a new mark, which a pause started from `last` could not have seen."""
    began = observation.is_under_way and not (
        last.is_under_way and last.transitions == observation.transitions
    )
    return began or not _marked(observation) <= _marked(last)


def _news(
    observation: UpgradeObservation,
) -> tuple[str, str, datetime | None, tuple[datetime, ...], bool, frozenset[tuple[str, bool, bool, bool]]]:
    """The relevant facts. They have `why_unknown`, but not `unread`, whose text changes every second."""
    return (
        observation.phase,
        observation.why_unknown,
        observation.since,
        observation.transitions,
        bool(observation.unread),
        frozenset(map(_stands, observation.checks)),
    )


def _stands(check: PausableCheck) -> tuple[str, bool, bool, bool]:
    return check.uid, check.is_paused, check.is_marked, check.is_going


def _marked(observation: UpgradeObservation) -> frozenset[str]:
    """The uids of marked checks, except those being deleted."""
    return frozenset(check.uid for check in observation.checks if check.is_marked and not check.is_going)
