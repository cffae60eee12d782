"""The messages to a workflow: orders of people, as updates and as signals, and wakes of the detector.

A handler only records a message when it arrives; the main loop obeys or answers it at its next step.
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


class Wakes:
    """The signals without facts to one run, which make the workflow observe again.

    Wakes that arrive while the main loop is busy are answered by one observation.
    """

    def __init__(self) -> None:
        self._received = self._answered = 0

    def receive(self) -> None:
        """Record a wake; the signal handler does nothing else."""
        self._received += 1

    @property
    def has_new(self) -> bool:
        """True if a wake arrived since the last answer; the main loop must not rest then."""
        return self._received > self._answered

    def answer(self) -> None:
        """Start an observation; a wake that arrives from now on requires another one."""
        self._answered = self._received
