"""PauseProgress: which checks the upgrade pause has handled in the current upgrade (rule 46).

The annotation holds a check of a kind that is paused for upgrades, not the upgrade itself, so that a check
which an administrator unpauses works at once. Until the pause has handled a check, the upgrade holds it.
"""

from collections.abc import Collection
from datetime import datetime

from objects.frozen import Frozen
from objects.metadata import ObjectMetadata


class PauseProgress(Frozen):
    """The progress, from the workflow's questions; the default is that of a detector that just started."""

    transitions: tuple[datetime, ...] = ()
    """The upgrade, by the transitions of its signals at the last look."""
    handled_until: datetime | None = None
    """The checks created before were handled, except the pending ones; None: no check was."""
    pending: tuple[str, ...] = ()
    """The uids of the checks whose latest write failed."""

    def has_handled(self, check: ObjectMetadata, transitions: Collection[datetime]) -> bool:
        """True if the check was handled in the upgrade with these transitions."""
        is_same = set(transitions) == set(self.transitions) or not set(transitions).isdisjoint(
            self.transitions
        )
        is_before = self.handled_until is not None and check.creation_timestamp < self.handled_until
        return is_same and is_before and check.uid not in self.pending
