"""StandingOrders: orders of people to a workflow, as updates and as signals.

A handler only records an order when it arrives; the main loop obeys it at its next step.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

Order = TypeVar("Order")


class StandingOrders(Generic[Order]):
    """The orders of one workflow, recorded and not yet obeyed."""

    def __init__(self, write_down: Callable[[Order], None], *, when_cancelled: Order) -> None:
        """`write_down` puts an order into the memory of the workflow; it must not await anything."""
        self._write_down = write_down
        self._when_cancelled = when_cancelled
        self._given = self._obeyed = 0

    def give(self, order: Order) -> None:
        """Record an order, in the task in which it arrived."""
        self._write_down(order)
        self._given += 1

    def obey_cancel(self) -> None:
        """Record a cancel as an order. Temporal notifies a run of its first cancel only."""
        self.give(self._when_cancelled)

    @property
    def has_new(self) -> bool:
        """True if an order arrived since the main loop last obeyed; it must not rest then."""
        return self._given > self._obeyed

    def obey(self) -> None:
        """Begin a step of the main loop with the orders recorded so far."""
        self._obeyed = self._given
