"""UpgradeObservation: the answer of the detector to the question whether an upgrade is under way."""

from datetime import datetime, timedelta

from health.cluster.upgrade import UpgradePhase
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

LONG_UPGRADE = timedelta(hours=6)
MOST_TRANSITIONS = 100
"""The maximum of further signals in one answer."""
TURNED_OFF = "PARAMEDIC_UPGRADE_PAUSE is off"


class UpgradeObservation(Frozen):
    """The upgrade of the cluster, and the settings of its pause."""

    phase: OpenEnum[UpgradePhase]
    since: datetime | None = None
    """The transition of the signal: the first one while under way, the latest once over."""
    also_since: tuple[datetime, ...] = ()
    """The transitions of other signals that are also under way."""
    sign: str = ""
    why_unknown: ShortText = ""
    is_turned_off: bool = False
    """Whether a setting turns the pause off; our checks are then unpaused, whatever the phase."""
    is_in_shadow: bool = False
    """Whether the policy puts every check in shadow."""
    long_upgrade_seconds: float = LONG_UPGRADE.total_seconds()
    seen_at: datetime | None = None

    @property
    def transitions(self) -> tuple[datetime, ...]:
        """The transitions of all signals under way."""
        since = () if self.since is None else (self.since,)
        return (*since, *self.also_since) if self.is_under_way else ()

    @property
    def is_under_way(self) -> bool:
        return self.phase is UpgradePhase.UNDER_WAY and not self.is_turned_off

    @property
    def is_over(self) -> bool:
        return self.is_turned_off or self.phase in {UpgradePhase.OVER, UpgradePhase.NEVER}

    @property
    def long_upgrade(self) -> timedelta:
        return timedelta(seconds=self.long_upgrade_seconds)
