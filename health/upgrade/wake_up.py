"""Whether there should be an upgrade pause, and when it is to know of what is seen.

It is wanted while an upgrade goes on, also where there is no check yet; and afterwards for as long as a check
carries our mark, whoever has forgotten it there. What a person ordered by hand keeps one open by itself. None
is wanted where a setting turns the pause off: a mark may be that of another tool then.
"""

from datetime import datetime

from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck


def is_wanted(seen: UpgradeObservation) -> bool:
    """Whether there should be one."""
    if seen.is_turned_off:
        return False
    return seen.is_under_way or (seen.is_over and bool(_marked(seen)))


def needs_wake_up(last: UpgradeObservation, seen: UpgradeObservation) -> bool:
    """Whether one that knows of `last` is to know of what is `seen`; other edits of checks are no news."""
    return _news(last) != _news(seen)


def has_appeared(last: UpgradeObservation, seen: UpgradeObservation) -> bool:
    """Whether one is wanted for what one that knew of `last` did not: another upgrade, or another mark."""
    began = seen.is_under_way and not (last.is_under_way and last.transitions == seen.transitions)
    return began or not _marked(seen) <= _marked(last)


def _news(
    seen: UpgradeObservation,
) -> tuple[str, str, datetime | None, tuple[datetime, ...], bool, frozenset[tuple[str, bool, bool, bool]]]:
    """Why nobody knows is news, as a ClusterVersion that is gone; why checks are unread tells of seconds."""
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
    """On what is being deleted a mark means nothing any more."""
    return frozenset(check.uid for check in seen.checks if check.is_marked and not check.is_going)
