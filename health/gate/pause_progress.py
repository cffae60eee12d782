"""PauseProgress: the checks that the upgrade pause has handled in the current upgrade (rule 46).

The annotation holds a check of a kind that is paused for upgrades, not the upgrade itself, so that a check
which an administrator unpauses works at once. Until the pause has handled a check, the upgrade holds it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto


class PauseStage(Enum):
    """The effect of a running upgrade on one check."""

    NONE = auto()
    """Checks of its kind are not paused for upgrades: the upgrade holds it."""
    AWAITED = auto()
    """The pause has not handled it yet: the upgrade holds it."""
    HANDLED = auto()
    """It was paused, or found paused: only the annotation holds it."""


@dataclass(frozen=True)
class PauseProgress:
    """The progress, from the workflow's questions; the default is that of a detector that just started."""

    transitions: frozenset[datetime] = frozenset()
    """The upgrade, by the transitions of its signals at the last look."""
    handled: frozenset[str] = frozenset()
    """The uids of the handled checks."""

    def stage_of(self, uid: str, transitions: frozenset[datetime]) -> PauseStage:
        """The effect of the upgrade with these transitions on the check of that uid."""
        is_same = transitions == self.transitions or not transitions.isdisjoint(self.transitions)
        return PauseStage.HANDLED if is_same and uid in self.handled else PauseStage.AWAITED
