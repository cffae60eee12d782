"""Disruption: what an incident did to its target itself, and has not seen the end of. Pure.

Rule (rule 28): a target that was deleted is waited for until it is gone, one that was marked for another
controller until that takes the mark off. A detector whose state lags does not see a mark yet: it is not set
again before `SEEN_AFTER`. An order to delete whose answer was lost is ours if the target goes.
"""

from datetime import datetime, timedelta
from typing import Self

from health.model.references import Action, Step
from objects.frozen import Frozen, OpenEnum

SEEN_AFTER = timedelta(seconds=10)
"""How long a change of ours may take to be seen by the detector before it counts as undone."""


class Disruption(Frozen):
    """A deletion, a mark that was not seen yet, or nothing."""

    action: OpenEnum[Action] | None = None
    at: datetime | None = None
    """None: it was ordered, and nobody knows what became of the order."""

    @property
    def deleted_at(self) -> datetime | None:
        """When the incident deleted the target, which may not be gone yet."""
        return self.at if self.action is Action.DELETE else None

    @property
    def has_deleted(self) -> bool:
        """Whether the incident deleted the target."""
        return self.deleted_at is not None

    @property
    def may_have_deleted(self) -> bool:
        """Whether the deletion of the target was ordered, and nobody knows what became of the order."""
        return self.action is Action.DELETE and self.at is None

    @property
    def marked_at(self) -> datetime | None:
        """When the incident marked the target."""
        return self.at if self.action is Action.MARK else None

    def until(self, now: datetime) -> Self:
        """The same at `now`: a mark that should have been seen by then is none."""
        is_over = self.marked_at is not None and now >= self.marked_at + SEEN_AFTER
        return type(self)() if is_over else self

    def ordered(self, step: Step) -> Self:
        """The same from the moment that `step` is ordered."""
        if step.action is Action.DELETE:
            return type(self)(action=Action.DELETE)
        return type(self)() if self.may_have_deleted else self
