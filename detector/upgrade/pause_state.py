"""PauseState: whether pauses of checks matter in this cluster, and which checks are handled.

The cluster context reads it; `UpgradePauses` changes it.
"""

import asyncio
from collections.abc import Callable

from detector.upgrade.check_changes import CheckChanges
from health.cluster.pause_progress import PauseProgress


class PauseState:
    """The progress of pauses in one cluster, and the handled checks."""

    def __init__(self, serves_signals: Callable[[], bool], *, is_on: bool) -> None:
        """`serves_signals`: whether the API server serves a kind that can signal an upgrade."""
        self._serves_signals = serves_signals
        self.is_on = is_on
        self.changes = CheckChanges()
        self.changed = asyncio.Event()
        """Set it when the checks or the upgrade may have changed."""
        self._was_concerned = False

    @property
    def is_concerned(self) -> bool:
        """True if pauses matter in this cluster; once noted, it stays true."""
        return self._was_concerned or (self.is_on and self._serves_signals())

    def note_concerned(self) -> None:
        """Note that pauses matter, for as long as the process lives."""
        self._was_concerned = True

    def progress(self) -> PauseProgress | None:
        """The progress that the workflow has reported; None if no check is paused here."""
        return self.changes.progress if self.is_on and self.is_concerned else None
