"""A stand-in for the status reporter, without its API server."""

from datetime import datetime
from typing import Any

from health.announcement import Announcement, Severity
from health.check_sight import CheckSight
from health.nodehealthcheck.events import announcements
from health.nodehealthcheck.status import status_patch
from tests.health.samples import NOW


class Reporter:
    """Tells as the status reporter does: what is told twice is one Event; status is written after it."""

    def __init__(self) -> None:
        self.before: CheckSight | None = None
        self.stored: dict[str, Any] = {}
        self.events: dict[str, Announcement] = {}

    def sees(self, after: CheckSight, now: datetime = NOW) -> list[tuple[Severity, str, str]]:
        """The Events that are new."""
        told = {note.seed: note for note in announcements(self.before, after, self.stored, now)}
        names = {f"{seed}{note.again if seed in self.events else ''}": note for seed, note in told.items()}
        new = [note for name, note in names.items() if name not in self.events]
        self.events |= names
        self.stored |= status_patch(after, self.stored, now)
        self.before = after
        return [(note.severity, note.reason, note.message) for note in new]

    def restarts(self) -> None:
        self.before = None
