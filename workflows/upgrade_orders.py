"""Orders of people to an upgrade pause: what each is in its memory, and which are refused. Pure."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from temporalio.exceptions import ApplicationError

from health.upgrade.memory import PauseMemory
from health.upgrade.observation import UpgradeObservation
from health.upgrade.orders import OrderName, PauseOrderRecord, is_named
from workflows.kit.standing_orders import StandingOrder
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder

Order = PauseOrder | UnpauseOrder | ForgetOrder
NAMES: Mapping[type[Order], OrderName] = MappingProxyType(
    {PauseOrder: OrderName.PAUSE, UnpauseOrder: OrderName.UNPAUSE, ForgetOrder: OrderName.FORGET}
)
UNKNOWN_CHECK = "UnknownCheck"
"""The type of the error that refuses an order for a check that there is not."""
NOT_OURS = "PausedBySomebodyElse"
"""The type of the error that refuses to unpause what the upgrade pause has not paused."""


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


def refuse_senseless(order: Order, seen: UpgradeObservation | None) -> None:
    """Refuse what could never be obeyed, as far as the checks are known.

    Raises:
        ApplicationError: there is no such check, or it was paused by somebody else.

    """
    if seen is None or seen.unread or not order.check:
        return
    found = [check for check in seen.checks if is_named(check.reference, order.check)]
    if not found:
        raise ApplicationError(
            f"there is no check {order.check!r} among the {len(seen.checks)} that upgrades pause",
            type=UNKNOWN_CHECK,
        )
    if isinstance(order, UnpauseOrder) and all(one.is_paused and not one.is_marked for one in found):
        raise ApplicationError(
            f"{found[0].reference} was paused by somebody else, who unpauses it", type=NOT_OURS
        )
