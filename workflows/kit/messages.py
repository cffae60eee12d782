"""The messages to a workflow: orders of people, as updates and as signals, and wakes of the detector.

A handler only records a message when it arrives; the main loop obeys or answers it at its next step.

A handler of a signal takes any number of values of any type, and reads them itself: Temporal repeats a task
whose handler raises an error until the code changes, so one wrong signal would stop the workflow.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pydantic import ValidationError

from objects.field_problem import FieldProblem
from objects.frozen import Frozen

Message = TypeVar("Message", bound=Frozen)
Order = TypeVar("Order")


class InvalidMessage(ValueError):
    """The values of a signal or update are not its message; it says which field is wrong, and its value."""

    def __init__(self, words: str, field: str = "") -> None:
        super().__init__(f"{field}: {words}" if field else words)
        self.field = field
        """ "": the whole message."""


def read_message(kind: type[Message], values: Sequence[object]) -> Message:
    """The message in the decoded values of a signal or update; without a value, or with null, the default.

    Raises:
        InvalidMessage: there are several values, or the value is not such a message.

    """
    if len(values) > 1:
        raise InvalidMessage(f"takes one JSON value (found {len(values)} values)")
    if not values or values[0] is None:
        return kind()
    try:
        return kind.model_validate(values[0])
    except ValidationError as error:
        problem = FieldProblem.of(error)
        raise InvalidMessage(problem.sentence, problem.field) from None  # Temporal stores causes, too


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
