"""PauseOrderRecord: a person's order for one check, or for all checks, during an upgrade.

An order is obeyed once for each check, so a person may unpause the check by hand afterwards. The latest order
for a check counts. An order ends with the upgrade; a pause for a time ends at that time.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from health.model.references import CheckReference
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText


class OrderName(StrEnum):
    """The orders that people can give to an upgrade pause."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    FORGET = "forget"
    """Treat the check as not seen in this upgrade: it is paused unless it already is."""


class PauseOrderRecord(Frozen):
    """One order with its scope and times."""

    number: int
    """Increases with each order of an upgrade pause."""
    order: OpenEnum[OrderName]
    check: PersonText = ""
    """`namespace/name`, optionally with the kind before; "": every check, including future ones."""
    reason: PersonText
    identity: PersonText = ""
    order_id: PersonText = ""
    """The id that its sender gave it; "": none."""
    given: datetime
    until: datetime | None = None
    """Until when a pause stays without an upgrade; None: it ends with the upgrade."""

    def is_kept(self, now: datetime) -> bool:
        """True for a pause for a time that is not over yet."""
        return self.order is OrderName.PAUSE and self.until is not None and now < self.until


def is_named(check: CheckReference, name: str) -> bool:
    """True if this name denotes the check."""
    return name in _names(check)


def _names(check: CheckReference) -> frozenset[str]:
    return frozenset({str(check), "/".join(part for part in (check.namespace, check.name) if part)})


def latest_for(orders: Iterable[PauseOrderRecord], check: CheckReference) -> PauseOrderRecord | None:
    """The order that counts for a check, obeyed or not."""
    names = _names(check) | {""}  # once for all orders: 5,000 checks may have 100
    return max(
        (order for order in orders if order.check in names), key=lambda order: order.number, default=None
    )


def still_standing(
    orders: Iterable[PauseOrderRecord], began: datetime, now: datetime
) -> tuple[PauseOrderRecord, ...]:
    """The orders that still apply when the next upgrade began at `began`."""
    return tuple(order for order in orders if order.given >= began or order.is_kept(now))
