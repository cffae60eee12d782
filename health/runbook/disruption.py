"""Disruption: a deletion or mark of the target by the incident that has not completed. Pure.

Rule (rule 28): after a deletion the incident waits until the target is gone, after a mark until the other
controller removes the mark. The detector's state may lag and lack the mark: the target is not marked again
before `SEEN_AFTER`. A deletion whose answer was lost counts as ours if the target disappears.
"""

from datetime import datetime, timedelta
from typing import Self

from health.model.references import Action, Step
from objects.frozen import Frozen, OpenEnum

SEEN_AFTER = timedelta(seconds=10)
"""How long the detector may take to see our change before the change counts as undone."""


class Disruption(Frozen):
    """A deletion, a mark that the detector has not seen yet, or nothing."""

    action: OpenEnum[Action] | None = None
    at: datetime | None = None
    """None: the deletion was ordered, and its result is unknown."""

    @property
    def deleted_at(self) -> datetime | None:
        """When the incident deleted the target, which may not be gone yet."""
        return self.at if self.action is Action.DELETE else None

    @property
    def has_deleted(self) -> bool:
        """True if the deletion succeeded; the target may still exist."""
        return self.deleted_at is not None

    @property
    def may_have_deleted(self) -> bool:
        """True if the deletion was ordered and its result is unknown."""
        return self.action is Action.DELETE and self.at is None

    @property
    def marked_at(self) -> datetime | None:
        """When the incident marked the target, if the mark is not seen yet."""
        return self.at if self.action is Action.MARK else None

    def until(self, now: datetime) -> Self:
        """The same at `now`: a mark that should be visible by then counts as undone."""
        is_over = self.marked_at is not None and now >= self.marked_at + SEEN_AFTER
        return type(self)() if is_over else self

    def ordered(self, step: Step) -> Self:
        if step.action is Action.DELETE:
            return type(self)(action=Action.DELETE)
        return type(self)() if self.may_have_deleted else self
