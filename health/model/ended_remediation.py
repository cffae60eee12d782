"""EndedRemediation: the steps that a remediation took, for a failure that comes back after it. Pure."""

from datetime import datetime, timedelta
from typing import Self

from health.model.references import TemplateReference
from objects.frozen import Frozen

IN_A_ROW = timedelta(hours=1)
"""Remediations are in a row while each failure begins within this time after the remediation before it."""


class EndedRemediation(Frozen):
    """The latest remediation of a target by its check, which has ended."""

    ended: datetime
    taken: tuple[TemplateReference, ...]
    """The templates of its steps; after a relapse, also those of the remediations before it."""
    in_a_row: int = 1
    """How many remediations in a row took these steps and no other ones."""

    @classmethod
    def after(cls, before: Self | None, taken: tuple[TemplateReference, ...], ended: datetime) -> Self:
        """The remediation that took these steps, after `before`."""
        is_same = before is not None and before.taken == taken
        return cls(ended=ended, taken=taken, in_a_row=before.in_a_row + 1 if before and is_same else 1)

    def is_within(self, limit: timedelta, failed: datetime) -> bool:
        """True if a failure that began at `failed` began no later than `limit` after the end."""
        return failed - self.ended <= limit
