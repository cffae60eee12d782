"""PauseProgress: the checks that the upgrade pause has handled in the current upgrade (rule 46).

The annotation holds a check of a kind that is paused for upgrades, not the upgrade itself, so that a check
which an administrator unpauses works at once. Until the pause has handled a check, the upgrade holds it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

MOST_CHECKS = 5_000
"""Checks that an upgrade pause takes; the upgrade itself holds those above, and annotates none of them."""


class PauseStage(Enum):
    """The effect of a running upgrade on one check."""

    NONE = auto()
    """Checks of its kind are not paused for upgrades: the upgrade holds it."""
    AWAITED = auto()
    """The pause has not handled it yet: the upgrade holds it."""
    LEFT_OUT = auto()
    """It is above the bound of the pause: the upgrade holds it until its end."""
    HANDLED = auto()
    """It was paused, or found paused: only the annotation holds it."""


@dataclass(frozen=True)
class PauseProgress:
    """The progress, from the workflow's questions; the default is that of a detector that just started."""

    transitions: frozenset[datetime] = frozenset()
    """The upgrade, by the transitions of its signals at the last look."""
    handled: frozenset[str] = frozenset()
    """The uids of the handled checks."""
    left_out: frozenset[str] = frozenset()
    """The uids of the checks above the bound."""

    def stage_of(self, uid: str, transitions: frozenset[datetime]) -> PauseStage:
        """The effect of the upgrade with these transitions on the check of that uid."""
        is_same = transitions == self.transitions or not transitions.isdisjoint(self.transitions)
        if is_same and uid in self.handled:
            return PauseStage.HANDLED
        return PauseStage.LEFT_OUT if uid in self.left_out else PauseStage.AWAITED
