"""EndedRemediation: the steps that a remediation took, for a failure that comes back after it. Pure."""

from datetime import datetime, timedelta

from health.model.references import TemplateReference
from objects.frozen import Frozen

IN_A_ROW = timedelta(hours=1)
"""Remediations are in a row while each failure begins within this time after the remediation before it."""
SAID_FROM = 3
"""From how many remediations in a row a repetition is said."""


class EndedRemediation(Frozen):
    """The latest remediation of a target by its check, which has ended."""

    ended: datetime
    taken: tuple[TemplateReference, ...]
    """The templates of its steps; after a relapse, also those of the remediations before it."""
    in_a_row: int = 0
    """How many remediations in a row took this first step of several alone; 0: it took others."""

    def is_within(self, limit: timedelta, failed: datetime) -> bool:
        """True if a failure that began at `failed` began no later than `limit` after the end."""
        return failed - self.ended <= limit

    @property
    def repetition(self) -> str:
        """How often in a row its first step alone was taken, in words; "": seldom."""
        return repeated(self.in_a_row) if self.in_a_row >= SAID_FROM else ""


def repeated(times: int) -> str:
    """The words for a first step that was taken alone so often, with the annotation that helps."""
    return (
        f"step 1 was taken {times} times in a row; the steps after it are not reached "
        "(the annotation paramedic.dev/relapse on the check makes a failure go on with the next step)"
    )
