"""LeftBehind: what remains of an incident once all was cleaned up that could be. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from health.chores import Chore, ChoreNote
from health.references import RequestReference

AGAIN = timedelta(minutes=1)
"""How long a request may hang on a finalizer before it is looked at without being told."""


@dataclass(frozen=True)
class LeftBehind:
    """What remains once all was cleaned up that could be."""

    hanging: tuple[RequestReference, ...] = ()
    """Requests that are being deleted, and that a finalizer keeps."""
    failed: tuple[RequestReference, ...] = ()
    """Those that could not be deleted."""
    has_lease: bool = False

    @property
    def requests(self) -> tuple[RequestReference, ...]:
        """All that are there."""
        return (*self.hanging, *self.failed)

    def again_at(self, notes: Iterable[ChoreNote], now: datetime) -> datetime | None:
        """When it is tried again; None: nothing remains.

        By the back-off of what failed; each minute what is being deleted, and what nobody says anything of.
        """
        tries = [note.next_try for note in notes if note.chore is Chore.CLEAN_UP]
        if self.hanging or (self.has_lease and not tries):
            tries.append(now + AGAIN)
        return min(tries, default=None)
