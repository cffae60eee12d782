"""OrdersMemory: the part of the memory of an incident that holds the orders of people. Pure."""

from datetime import datetime
from typing import Self

from health.model.order import Blocks, OrderRecord
from health.model.request_record import MOST_RECORDS
from objects.frozen import Frozen


class OrdersMemory(Frozen):
    """The orders that an incident got. Memory inherits it, so that its JSON keeps all fields on one level."""

    orders: tuple[OrderRecord, ...] = ()
    """The orders of people, for its result."""
    standing: tuple[OrderRecord, ...] = ()
    """The orders of people that stand, each until its time is over or another order ends it."""

    @property
    def held(self) -> OrderRecord | None:
        """The order that blocks new steps and keeps existing requests; None: there is none."""
        return self._blocking(Blocks.STEPS)

    @property
    def left_alone(self) -> OrderRecord | None:
        """The order to clean up and leave the target alone; None: there is none."""
        return self._blocking(Blocks.REMEDIATION)

    @property
    def blocking(self) -> tuple[OrderRecord, ...]:
        """The standing orders that block every step."""
        return tuple(order for order in self.standing if order.blocks is not None)

    @property
    def is_blocked(self) -> bool:
        return bool(self.blocking)

    @property
    def hold_reason(self) -> str | None:
        """Why a person holds it, "" without a reason; None: no person does."""
        return self.held.reason if self.held else None

    def having_been_ordered(self, order: OrderRecord, *, stands: bool) -> Self:
        """The same with a new order; if it stands, it replaces a standing one of the same name."""
        others = tuple(standing for standing in self.standing if standing.order != order.order)
        return self._with(
            orders=(*self.orders, order)[-MOST_RECORDS:],
            standing=(*others, order) if stands else self.standing,
        )

    def having_decided(self, number: int, now: datetime, refused: str = "") -> Self:
        """The same once an observation decided whether the order at this index is obeyed."""
        orders = list(self.orders)
        is_reported = orders[number].is_reported and not refused
        changes = {"is_pending": False, "refused": refused, "decided": now, "is_reported": is_reported}
        orders[number] = orders[number].model_copy(update=changes)
        return self._with(orders=tuple(orders))

    @property
    def unreported_orders(self) -> tuple[OrderRecord, ...]:
        """The orders and refusals that the detector has not got yet."""
        return tuple(order for order in self.orders if not order.is_reported)

    def _blocking(self, blocked: Blocks) -> OrderRecord | None:
        """The latest standing order that blocks this."""
        return next((order for order in reversed(self.standing) if order.blocks is blocked), None)

    def _with(self, **changes: object) -> Self:
        return self.model_copy(update=changes)
