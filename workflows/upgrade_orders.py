"""Orders of people to an upgrade pause: how each is recorded, and which are refused. Pure.

An order names a check by its name, optionally with namespace and kind; the record has the full name.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from temporalio.exceptions import ApplicationError

from health.model.order import StandingOrder
from health.upgrade.memory import PauseMemory
from health.upgrade.observation import TURNED_OFF, UpgradeObservation
from health.upgrade.orders import OrderName, PauseOrderRecord, is_named
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder

Order = PauseOrder | UnpauseOrder | ForgetOrder
NAMES: Mapping[type[Order], OrderName] = MappingProxyType(
    {PauseOrder: OrderName.PAUSE, UnpauseOrder: OrderName.UNPAUSE, ForgetOrder: OrderName.FORGET}
)
UNKNOWN_CHECK = "UnknownCheck"
"""The type of the error for an unknown check."""
AMBIGUOUS_CHECK = "AmbiguousCheck"
"""The type of the error for a name that several checks have."""
CHECKS_UNREAD = "ChecksUnread"
"""The type of the error while the checks are unknown."""
NOT_OURS = "PausedBySomebodyElse"
"""The type of the error for unpausing a check that the upgrade pause has not paused."""
NO_UPGRADE = "NoUpgrade"
"""The type of the error for a pause without a time while no upgrade is under way."""
OFF = "TurnedOff"
"""The type of the error for any order while the pause is turned off."""
MOST_NAMED = 10
"""The maximum of checks that an error names."""


def ordered(memory: PauseMemory, order: Order, now: datetime) -> PauseMemory:
    """The memory after an order given now; a repeated order changes nothing."""
    if earlier(memory, order) is not None:
        return memory
    record = PauseOrderRecord(
        number=memory.next_order_number(),
        order=NAMES[type(order)],
        check=order.check,
        reason=order.reason,
        identity=order.identity,
        order_id=order.order_id,
        given=now,
        until=order.until(now) if isinstance(order, StandingOrder) else None,
    )
    return memory.having_been_ordered(record)


def earlier(memory: PauseMemory, order: Order) -> PauseOrderRecord | None:
    """The record of an order that is sent again as its answer was lost, in this run or an earlier one."""
    sent = (NAMES[type(order)], order.order_id)
    records = (record for record in memory.orders if (record.order, record.order_id) == sent)
    return next(records, None) if order.order_id else None


def knows_checks(observation: UpgradeObservation | None) -> bool:
    """True if the checks are known, so that a name can be resolved."""
    return observation is not None and (not observation.unread or bool(observation.checks))


def refuse_senseless(order: Order, observation: UpgradeObservation | None) -> None:
    """Refuse an order that could never be obeyed, as far as the checks are known.

    Raises:
        ApplicationError: as `exact`.

    """
    if knows_checks(observation):
        exact(order, observation)


def exact(order: Order, observation: UpgradeObservation | None) -> Order:
    """The order with the full name of its check.

    Raises:
        ApplicationError: it could never be obeyed, or the check is ambiguous or unknown.

    """
    if observation is not None:
        _refuse_needless(order, observation)
    if not order.check:
        return order
    if observation is None:
        raise ApplicationError("no detector has listed the checks yet", type=CHECKS_UNREAD)
    check = _meant(order.check, observation)
    if isinstance(order, UnpauseOrder) and check.is_paused and not check.is_marked:
        raise ApplicationError(
            f"{check.reference} was paused by another user or tool, which must unpause it", type=NOT_OURS
        )
    return order.model_copy(update={"check": str(check.reference)})


def _refuse_needless(order: Order, observation: UpgradeObservation) -> None:
    if observation.is_turned_off:
        raise ApplicationError(TURNED_OFF, type=OFF)
    if isinstance(order, PauseOrder) and order.for_seconds is None and observation.is_over:
        raise ApplicationError("no upgrade is under way, so a pause needs a time", type=NO_UPGRADE)


def _meant(name: str, observation: UpgradeObservation) -> PausableCheck:
    found = [check for check in observation.checks if is_named(check.reference, name)]
    found = found or [check for check in observation.checks if check.reference.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ApplicationError(f"{name!r} is ambiguous: {_names(found)}", type=AMBIGUOUS_CHECK)
    if observation.unread:
        raise ApplicationError(f"the checks cannot all be read: {observation.unread}", type=CHECKS_UNREAD)
    raise ApplicationError(
        f"there is no check {name!r} among those that upgrades pause: {_names(observation.checks)}",
        type=UNKNOWN_CHECK,
    )


def _names(checks: Iterable[PausableCheck]) -> str:
    names = sorted(str(check.reference) for check in checks)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"
