"""StandingOrders: what people tell a workflow, as updates and as signals.

An order is only written down when it comes, whenever that is; the main loop obeys it at its next step. The
handlers are methods of the workflow, as Temporal wants them, and do nothing but give the order.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from pydantic import Field

from objects.frozen import Frozen

LONGEST_ORDER = timedelta(days=366)
"""A time that no calendar can hold would stop the workflow; without a time an order is for good."""


class StandingOrder(Frozen):
    """The message of an order that stands for a time, or until another one ends it."""

    reason: str = ""
    for_seconds: float | None = Field(default=None, gt=0, le=LONGEST_ORDER.total_seconds())

    def until(self, now: datetime) -> datetime | None:
        """When it is over if it is given now; None: never by itself."""
        return None if self.for_seconds is None else now + timedelta(seconds=self.for_seconds)


Order = TypeVar("Order")


class StandingOrders(Generic[Order]):
    """The orders of one workflow."""

    def __init__(self, write_down: Callable[[Order], None], *, when_cancelled: Order) -> None:
        """`write_down` puts an order into what the workflow remembers; it must not wait for anything."""
        self._write_down = write_down
        self._when_cancelled = when_cancelled
        self._given = self._obeyed = 0

    def give(self, order: Order) -> None:
        """Write an order down, in the task in which it came."""
        self._write_down(order)
        self._given += 1

    def obey_cancel(self) -> None:
        """Take a cancel for an order. Temporal tells a run of its first cancel only."""
        self.give(self._when_cancelled)

    @property
    def has_new(self) -> bool:
        """Whether one was given since the main loop came to obey them: then it must not rest."""
        return self._given > self._obeyed

    def obey(self) -> None:
        """Begin a step of the main loop by what is written down now."""
        self._obeyed = self._given
