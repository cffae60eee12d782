"""PauseOrderRecord: a person's order for one check, or for all checks, during an upgrade.

An order is carried out once for each check, so a person may edit its annotation by hand afterwards. The
latest order for a check counts. An order ends with the upgrade; a pause for a time ends at that time.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from health.model.references import CheckReference
from health.upgrade.pausable_check import PausableCheck
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText

MOST_NAMED = 10
"""The maximum of checks that a refusal names."""


class OrderName(StrEnum):
    """The orders that people can give to an upgrade pause."""

    PAUSE = "pause"
    UNPAUSE = "unpause"


class PauseRefusal(StrEnum):
    """Why an order is not carried out: the type of the error that its sender gets."""

    UNKNOWN_CHECK = "UnknownCheck"
    AMBIGUOUS_CHECK = "AmbiguousCheck"
    NOT_OURS = "PausedBySomebodyElse"
    NO_UPGRADE = "NoUpgrade"
    """A pause without a time needs an upgrade."""
    OFF = "TurnedOff"


class RefusedOrder(Frozen):
    """An order that could never be carried out."""

    number: int
    refused: OpenEnum[PauseRefusal]
    why: ShortText


class PauseOrderRecord(Frozen):
    """One order with its scope and times."""

    number: int
    """Increases with each order of an upgrade pause."""
    order: OpenEnum[OrderName]
    check: PersonText = ""
    """Its name as the person wrote it, and once it is known the full one; "": every check."""
    reason: PersonText
    identity: PersonText = ""
    order_id: PersonText = ""
    """The id that its sender gave it; "": none."""
    given: datetime
    until: datetime | None = None
    """Until when a pause stays without an upgrade; None: it ends with the upgrade."""
    done_until: datetime | None = None
    """The checks created before were handled by it, except those whose write failed; None: no check was."""

    def is_kept(self, now: datetime) -> bool:
        """True for a pause for a time that is not over yet."""
        return self.order is OrderName.PAUSE and self.until is not None and now < self.until


def latest_for(orders: Iterable[PauseOrderRecord], check: CheckReference) -> PauseOrderRecord | None:
    """The order that counts for a check, carried out or not."""
    names = {str(check), ""}
    return max(
        (order for order in orders if order.check in names), key=lambda order: order.number, default=None
    )


def with_full_names(
    orders: Iterable[PauseOrderRecord], checks: Sequence[PausableCheck]
) -> tuple[tuple[PauseOrderRecord, ...], tuple[RefusedOrder, ...]]:
    """The orders for these checks, which are all that exist; and the new orders that are refused."""
    meant, refused = [], []
    for order in orders:
        if not order.check or order.done_until is not None:
            meant.append(order)
            continue
        found = [check for check in checks if order.check in _names(check.reference)]
        refusal = _refusal(order, found, checks)
        if refusal is None:
            meant.append(order.model_copy(update={"check": str(found[0].reference)}))
        else:
            refused.append(refusal)
    return tuple(meant), tuple(refused)


def _names(check: CheckReference) -> frozenset[str]:
    return frozenset(
        {
            str(check),
            f"{check.namespace}/{check.name}",
            f"{check.kind_name}/{check.name}",
            check.name,
        }
    )


def _refusal(
    order: PauseOrderRecord, found: Sequence[PausableCheck], checks: Iterable[PausableCheck]
) -> RefusedOrder | None:
    if not found:
        why = f"there is no check {order.check!r} among those that upgrades pause: {_listed(checks)}"
        return RefusedOrder(number=order.number, refused=PauseRefusal.UNKNOWN_CHECK, why=why)
    if len(found) > 1:
        why = f"{order.check!r} is ambiguous: {_listed(found)}"
        return RefusedOrder(number=order.number, refused=PauseRefusal.AMBIGUOUS_CHECK, why=why)
    (check,) = found
    if order.order is OrderName.UNPAUSE and check.is_paused and not check.is_marked:
        why = f"{check.reference} was paused by another user or tool, which must unpause it"
        return RefusedOrder(number=order.number, refused=PauseRefusal.NOT_OURS, why=why)
    return None


def _listed(checks: Iterable[PausableCheck]) -> str:
    names = sorted(str(check.reference) for check in checks)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"
