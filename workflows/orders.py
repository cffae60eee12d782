"""Handlers of the orders of people: an update and a signal for each row of the table; and the refusal of one.

An update answers, and may refuse; a signal does neither. Both only record the order when it arrives
(`workflows.kit`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from health.model.order import OrderMessage, Refusal, unknown_field
from health.runbook.orders import OrderContext, OrderSpec, answer_to, is_repeated
from workflows.kit import InvalidMessage, read_message
from workflows.messages import ORDER_REFUSED

Message = TypeVar("Message", bound=OrderMessage)


def accept(
    spec: OrderSpec[Any],
    target: object,
    give: Callable[[OrderMessage], None],
    drop: Callable[[str, InvalidMessage], None],
    situation: Callable[[], OrderContext],
) -> None:
    """Handle the updates and signals of this order from now on; call it when the workflow is initialized."""

    def update(*values: object) -> str:
        order = read_order(spec.message, values)
        answer = answer_to(order, target, situation())
        give(order)
        return answer

    def refuse(*values: object) -> None:
        order = read_or_refuse(spec.message, values)
        present = situation()
        if is_repeated(order, present.memory):
            return  # its answer was lost, and the situation is another one since it was obeyed
        refusal = spec.refused(order, present)
        if refusal is not None:
            raise ApplicationError(refusal.why, refusal.field, type=ORDER_REFUSED)

    def signal(*values: object) -> None:
        try:
            order = read_order(spec.message, values)
        except InvalidMessage as problem:
            workflow.logger.warning("the signal %s is dropped: %s", spec.name, problem)
            drop(spec.name, problem)
            return
        give(order)

    workflow.set_update_handler(spec.name, update, validator=refuse)
    workflow.set_signal_handler(spec.name, signal)


def read_order(kind: type[Message], values: Sequence[object]) -> Message:
    """The order in the values of a signal or update.

    An unknown field is ignored in a message with an `order_id`, which a newer command may have sent. People
    send none, and a misspelled `for_seconds` would be an order without an end.

    Raises:
        InvalidMessage: the values are not such an order.

    """
    order = read_message(kind, values)
    names = values[0].keys() if values and isinstance(values[0], Mapping) else ()
    if not order.order_id and (why := unknown_field(kind, set(names) - kind.model_fields.keys())):
        raise InvalidMessage(why)
    return order


def read_or_refuse(kind: type[Message], values: Sequence[object]) -> Message:
    """The message in the values of an update, for its validator.

    Raises:
        ApplicationError: the values are not such a message.

    """
    try:
        return read_order(kind, values)
    except InvalidMessage as problem:
        raise ApplicationError(str(problem), problem.field, type=ORDER_REFUSED) from None


def refusal_in(cause: BaseException | None) -> Refusal:
    """The refusal in the cause of a failed update, for each client that gives orders."""
    if not isinstance(cause, ApplicationError):
        return Refusal(str(cause))
    field = next(iter(cause.details), "") if cause.type == ORDER_REFUSED else ""
    return Refusal(cause.message, str(field))
