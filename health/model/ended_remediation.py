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
    """How many remediations in a row took these first steps of more, and no other ones; 0: it took others."""
    came_back: datetime | None = None
    """When the failure began that lasts since; another condition meanwhile begins no other failure."""

    def is_within(self, limit: timedelta) -> bool:
        """True if the failure that came back began no later than `limit` after the end."""
        return self.came_back is not None and self.came_back - self.ended <= limit

    @property
    def repetition(self) -> str:
        """How often in a row its first steps alone were taken, in words; "": seldom."""
        return repeated(self.in_a_row, len(self.taken)) if self.in_a_row >= SAID_FROM else ""


def repeated(times: int, steps: int) -> str:
    """The words for so many first steps that were taken alone so often, with the annotation that helps."""
    what, them = ("step 1 was", "it") if steps == 1 else (f"steps 1 to {steps} were", "them")
    return (
        f"{what} taken {times} times in a row; the steps after {them} are not reached "
        "(the annotation paramedic.dev/relapse on the check makes a failure go on with the next step)"
    )
