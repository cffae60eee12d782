"""UpgradeObservation: the detector's answer to an upgrade pause: where the upgrade stands, and the checks."""

from datetime import datetime, timedelta

from health.gate.pause_progress import MOST_CHECKS
from health.gate.upgrade import UpgradePhase
from health.upgrade.pausable_check import PausableCheck
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

LONG_UPGRADE = timedelta(hours=6)
MOST_TRANSITIONS = 1_000
"""Signals that are under way at once, the first of which are told: a pause needs one that lasts."""
TURNED_OFF = "a setting turns the upgrade pause off"


class UpgradeObservation(Frozen):
    """What the detector sees; no times are compared but those of the API server."""

    phase: OpenEnum[UpgradePhase]
    """One that this version does not know is as Unknown."""
    since: datetime | None = None
    """The transition of the condition that signals upgrades: the first one of those that are under way."""
    also_since: tuple[datetime, ...] = ()
    """The transitions of other signals that are under way, too."""
    sign: ShortText = ""
    """What says that an upgrade is under way."""
    why_unknown: ShortText = ""
    checks: tuple[PausableCheck, ...] = ()
    """All of every kind that is paused by annotation, those that are being deleted too; in an answer of a
    session, those that changed."""
    gone: tuple[str, ...] = ()
    """In an answer of a session, the uids of checks that are not there any more."""
    left_out: int = 0
    """How many checks there are above the bound: the upgrade pause does not annotate them."""
    session: str = ""
    """Which memory of the detector `revision` counts changes of; "": the detector has told every check."""
    revision: int = 0
    """The latest change that has been told."""
    is_whole: bool = True
    """Whether the checks of earlier answers count no more."""
    has_more: bool = False
    """Whether the next answer continues this one."""
    unread: ShortText = ""
    """Why these are not known well enough, so that nothing may be changed; "": they are."""
    is_turned_off: bool = False
    """Whether a setting turns the pause off: then what is ours is given back, upgrade or not."""
    long_upgrade_seconds: float = LONG_UPGRADE.total_seconds()
    """After how long an upgrade is told to take long."""
    seen_at: datetime | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether checks are to be paused."""
        return self.phase is UpgradePhase.UNDER_WAY and not self.is_turned_off

    @property
    def transitions(self) -> tuple[datetime, ...]:
        """Those of all signals that are under way, in order."""
        if not self.is_under_way:
            return ()
        return tuple(sorted({*self.also_since} if self.since is None else {self.since, *self.also_since}))

    @property
    def is_over(self) -> bool:
        """Whether checks are to be unpaused; so it is too where nothing tells of upgrades any more."""
        return self.is_turned_off or self.phase in {UpgradePhase.OVER, UpgradePhase.NEVER}

    @property
    def long_upgrade(self) -> timedelta:
        """The same time as a value."""
        return timedelta(seconds=self.long_upgrade_seconds)

    @property
    def why_nothing_is_done(self) -> str:
        """Why nothing is known well enough to change anything (rule 36); "": it is."""
        if len(self.checks) > MOST_CHECKS:
            return f"{len(self.checks)} checks were told, and an upgrade pause takes at most {MOST_CHECKS}"
        if self.unread:
            return f"the checks cannot all be read: {self.unread}"
        if self.is_under_way or self.is_over:
            return ""
        return f"nobody can say whether the cluster is being upgraded: {self.why_unknown or self.phase}"
