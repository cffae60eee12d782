"""Reads the order in the payloads of an update or signal, by the rules of the incident, and words it."""

from collections.abc import Sequence
from datetime import timedelta

from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadConverter

from health.model.order import OrderMessage, StandingOrder, StepOrder
from health.runbook.lasting import UNTIL_RESUME
from objects.durations import in_words
from runtime.payload_codec import ENCRYPTED
from workflows.kit.messages import InvalidMessage
from workflows.orders import read_order

UNREADABLE = (ValueError, KeyError, RuntimeError)
"""Errors that payload converters raise for a malformed or encrypted payload."""


class Dropped(str):
    """Why the incident drops a signal that is no order."""

    __slots__ = ()


def read_sent(
    kind: type[OrderMessage], payloads: Sequence[Payload], decode: PayloadConverter
) -> OrderMessage | Dropped | None:
    """The order in these payloads, or why the incident drops it; None: we cannot decrypt them."""
    if any(payload.metadata.get("encoding") == ENCRYPTED for payload in payloads):
        return None
    try:
        return read_order(kind, [decode.from_payload(payload) for payload in payloads])
    except InvalidMessage as problem:
        return Dropped(problem)
    except UNREADABLE:
        return Dropped("its values cannot be decoded")


def arguments(order: OrderMessage | None) -> str:
    """The order's duration, step and reason, as far as they were given."""
    if order is None:
        return ""
    lasts = _lasts(order.for_seconds) if isinstance(order, StandingOrder) else ""
    step = f", step {order.step}" if isinstance(order, StepOrder) and order.step else ""
    reason = f": {order.reason}" if order.reason else ""
    return f"{lasts}{step}{reason}"


def _lasts(seconds: float | None) -> str:
    return f", {UNTIL_RESUME}" if seconds is None else f", for {in_words(timedelta(seconds=seconds))}"
