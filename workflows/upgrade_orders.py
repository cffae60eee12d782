"""Orders of people to an upgrade pause: what each is in its memory, and which are refused. Pure.

A check may be named alone, with its namespace, or with its kind, too; remembered is its full name.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from temporalio.exceptions import ApplicationError

from health.upgrade.memory import PauseMemory
from health.upgrade.observation import TURNED_OFF, UpgradeObservation
from health.upgrade.orders import OrderName, PauseOrderRecord, is_named
from health.upgrade.pausable_check import PausableCheck
from workflows.kit.standing_orders import StandingOrder
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder

Order = PauseOrder | UnpauseOrder | ForgetOrder
NAMES: Mapping[type[Order], OrderName] = MappingProxyType(
    {PauseOrder: OrderName.PAUSE, UnpauseOrder: OrderName.UNPAUSE, ForgetOrder: OrderName.FORGET}
)
UNKNOWN_CHECK = "UnknownCheck"
"""The type of the error that refuses an order for a check that there is not."""
AMBIGUOUS_CHECK = "AmbiguousCheck"
"""Of the one that refuses a name that several have."""
CHECKS_UNREAD = "ChecksUnread"
"""Of the one that refuses what nobody can judge, as the checks are not known."""
NOT_OURS = "PausedBySomebodyElse"
"""Of the one that refuses to unpause what the upgrade pause has not paused."""
NO_UPGRADE = "NoUpgrade"
"""Of the one that refuses a pause until the end of an upgrade where none is under way."""
OFF = "TurnedOff"
"""Of the one that refuses every order, as the pause is turned off."""
MOST_NAMED = 10
"""Checks that a refusal names."""


def ordered(memory: PauseMemory, order: Order, now: datetime) -> PauseMemory:
    """The memory with an order that is given now."""
    record = PauseOrderRecord(
        number=memory.next_order_number(),
        order=NAMES[type(order)],
        check=order.check,
        reason=order.reason,
        identity=order.identity,
        given=now,
        until=order.until(now) if isinstance(order, StandingOrder) else None,
    )
    return memory.having_been_ordered(record)


def knows_checks(seen: UpgradeObservation | None) -> bool:
    """Whether it can be said of a name which check it means."""
    return seen is not None and (not seen.unread or bool(seen.checks))


def refuse_senseless(order: Order, seen: UpgradeObservation | None) -> None:
    """Refuse what could never be obeyed, as far as the checks are known.

    Raises:
        ApplicationError: as `exact`.

    """
    if knows_checks(seen):
        exact(order, seen)


def exact(order: Order, seen: UpgradeObservation | None) -> Order:
    """The order with the full name of its check.

    Raises:
        ApplicationError: it could never be obeyed, or nobody knows which check is meant.

    """
    if seen is not None:
        _refuse_needless(order, seen)
    if not order.check:
        return order
    if seen is None:
        raise ApplicationError("no detector has answered yet which checks there are", type=CHECKS_UNREAD)
    check = _meant(order.check, seen)
    if isinstance(order, UnpauseOrder) and check.is_paused and not check.is_marked:
        raise ApplicationError(
            f"{check.reference} was paused by somebody else, who unpauses it", type=NOT_OURS
        )
    return order.model_copy(update={"check": str(check.reference)})


def _refuse_needless(order: Order, seen: UpgradeObservation) -> None:
    if seen.is_turned_off:
        raise ApplicationError(TURNED_OFF, type=OFF)
    if isinstance(order, PauseOrder) and order.for_seconds is None and seen.is_over:
        raise ApplicationError("no upgrade is under way, so a pause needs a time", type=NO_UPGRADE)


def _meant(name: str, seen: UpgradeObservation) -> PausableCheck:
    found = [one for one in seen.checks if is_named(one.reference, name)]
    found = found or [one for one in seen.checks if one.reference.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ApplicationError(f"{name!r} is ambiguous: {_names(found)}", type=AMBIGUOUS_CHECK)
    if seen.unread:
        raise ApplicationError(f"the checks cannot all be read: {seen.unread}", type=CHECKS_UNREAD)
    raise ApplicationError(
        f"there is no check {name!r} among those that upgrades pause: {_names(seen.checks)}",
        type=UNKNOWN_CHECK,
    )


def _names(checks: Iterable[PausableCheck]) -> str:
    names = sorted(str(one.reference) for one in checks)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"
