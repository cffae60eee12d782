"""UpgradeObservation: the detector's answer to an upgrade pause, and whether an answer starts or wakes one.

A pause should run during an upgrade, even without checks, and afterwards as long as a check has our mark. A
person's order keeps a running one open. None should be started if a setting turns the pause off, because a
mark may then be another tool's.
"""

from datetime import datetime, timedelta

from health.cluster.pause_progress import MOST_CHECKS
from health.cluster.upgrade import UpgradePhase
from health.upgrade.pausable_check import PausableCheck
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

LONG_UPGRADE = timedelta(hours=6)
MOST_TRANSITIONS = 1_000
"""The maximum of signals under way in an answer; a pause needs only one that lasts."""
TURNED_OFF = "a setting turns the upgrade pause off"


class UpgradeObservation(Frozen):
    """The upgrade and the checks; all times are from the API server."""

    phase: OpenEnum[UpgradePhase]
    """A value that this version does not know counts as Unknown."""
    since: datetime | None = None
    """The transition of the first signal under way."""
    also_since: tuple[datetime, ...] = ()
    """The transitions of other signals that are also under way."""
    sign: ShortText = ""
    """The condition that signals the upgrade."""
    why_unknown: ShortText = ""
    checks: tuple[PausableCheck, ...] = ()
    """All checks of kinds that are paused by annotation, including those being deleted; in an answer of a
    session, only the changed ones."""
    gone: tuple[str, ...] = ()
    """In an answer of a session, the uids of deleted checks."""
    left_out: int = 0
    """The number of checks above the limit, which the upgrade pause does not annotate."""
    session: str = ""
    """Identifies the detector's memory that `revision` belongs to; "": the answer has every check."""
    revision: int = 0
    """The latest change in this answer."""
    is_whole: bool = True
    """Whether this answer replaces the checks of earlier answers."""
    has_more: bool = False
    """Whether the next answer continues this one."""
    unread: ShortText = ""
    """Why the checks are unknown, so that nothing may be changed; "": they are known."""
    is_turned_off: bool = False
    """Whether a setting turns the pause off: our pauses are then removed, even during an upgrade."""
    long_upgrade_seconds: float = LONG_UPGRADE.total_seconds()
    """The time after which an upgrade gets the Event about a long upgrade."""
    seen_at: datetime | None = None

    @property
    def is_under_way(self) -> bool:
        """True if checks are to be paused."""
        return self.phase is UpgradePhase.UNDER_WAY and not self.is_turned_off

    @property
    def transitions(self) -> tuple[datetime, ...]:
        """The transitions of all signals under way, in order."""
        if not self.is_under_way:
            return ()
        return tuple(sorted({*self.also_since} if self.since is None else {self.since, *self.also_since}))

    @property
    def is_over(self) -> bool:
        """True if checks are to be unpaused, also if no signal exists any more."""
        return self.is_turned_off or self.phase in {UpgradePhase.OVER, UpgradePhase.NEVER}

    @property
    def long_upgrade(self) -> timedelta:
        return timedelta(seconds=self.long_upgrade_seconds)

    @property
    def why_nothing_is_done(self) -> str:
        """Why nothing may be changed (rule 36); "": changes are allowed."""
        if len(self.checks) > MOST_CHECKS:
            return (
                f"{len(self.checks)} checks were reported, and an upgrade pause takes at most {MOST_CHECKS}"
            )
        if self.unread:
            return f"the checks cannot all be read: {self.unread}"
        if self.is_under_way or self.is_over:
            return ""
        return f"it is unknown whether the cluster is being upgraded: {self.why_unknown or self.phase}"


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
