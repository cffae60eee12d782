"""PauseOrderRecord: what a person ordered for one check, or for all of them, during an upgrade.

An order is obeyed once for each check: who unpauses a check afterwards has the last word. The latest that is
meant for a check counts. What was ordered ends with the upgrade; a pause that was given a time ends then.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from health.model.references import CheckReference
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText


class OrderName(StrEnum):
    """What may be ordered."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    FORGET = "forget"
    """As if the check had not been seen in this upgrade: it is paused if it is not."""


class PauseOrderRecord(Frozen):
    """One order."""

    number: int
    """Counts the orders of an upgrade pause."""
    order: OpenEnum[OrderName]
    check: ShortText = ""
    """`namespace/name`, or with its kind before that; "": every check, those to come too."""
    reason: ShortText
    identity: ShortText = ""
    given: datetime
    until: datetime | None = None
    """Until when a pause is kept though no upgrade is under way; None: it ends with the upgrade."""

    def is_for(self, check: CheckReference) -> bool:
        """Whether it is meant for this check."""
        return not self.check or is_named(check, self.check)

    def is_kept(self, now: datetime) -> bool:
        """Whether it is a pause that outlasts upgrades, and its time has not come."""
        return self.order is OrderName.PAUSE and self.until is not None and now < self.until


def is_named(check: CheckReference, name: str) -> bool:
    """Whether people mean this check by that name."""
    short = "/".join(part for part in (check.namespace, check.name) if part)
    return name in {str(check), short}


def latest_for(orders: Iterable[PauseOrderRecord], check: CheckReference) -> PauseOrderRecord | None:
    """The order that counts for a check, obeyed or not."""
    return max((one for one in orders if one.is_for(check)), key=lambda one: one.number, default=None)


def still_standing(
    orders: Iterable[PauseOrderRecord], began: datetime, now: datetime
) -> tuple[PauseOrderRecord, ...]:
    """Those of the last upgrade that are still meant when the next one began at `began`."""
    return tuple(one for one in orders if one.given >= began or one.is_kept(now))
