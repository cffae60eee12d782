"""PauseProgress: which checks the upgrade pause has come to, in the upgrade that goes on (rule 46).

Checks of a kind that is paused for upgrades are held by the annotation, and not by the upgrade itself: so one
that an administrator unpauses works at once. Until the pause has come to a check, the upgrade holds it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto


class PauseStage(Enum):
    """What an upgrade that goes on means to one check."""

    NONE = auto()
    """Nobody pauses it for upgrades: the upgrade holds it."""
    AWAITED = auto()
    """The pause has not come to it yet: the upgrade holds it."""
    HANDLED = auto()
    """It was paused, or found paused: the annotation holds it, for as long as it is there."""


@dataclass(frozen=True)
class PauseProgress:
    """Known to a detector from the questions of the workflow; the default is that of one that just began."""

    transitions: frozenset[datetime] = frozenset()
    """Which upgrade it is about: the transitions of its signals when they were looked at last."""
    handled: frozenset[str] = frozenset()
    """The uids of the checks that it has come to."""

    def stage_of(self, uid: str, transitions: frozenset[datetime]) -> PauseStage:
        """What the upgrade with these transitions means to the check of that uid."""
        is_same = transitions == self.transitions or not transitions.isdisjoint(self.transitions)
        return PauseStage.HANDLED if is_same and uid in self.handled else PauseStage.AWAITED
