"""Orders by annotation: the message of a value, and the Event that answers it. Pure.

A value is the reason in plain text, or a JSON object with the options of the order. Other JSON is refused, as
it would say nothing as a reason. People write it with any tool, so its size is bounded before it is parsed,
and a refusal names field and value.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from pydantic import ValidationError
from pydantic_core import from_json

from health.model.node import EXCLUDE_LABEL
from health.model.order import (
    LONGEST_QUOTE,
    LONGEST_REASON,
    OF_COMMANDS,
    OrderMessage,
    Refusal,
    unknown_field,
)
from health.model.order_annotations import AnnotatedOrderKey
from health.model.references import IncidentReference
from health.runbook.orders import ORDERS
from objects.event import Event, Severity
from objects.field_problem import FieldProblem, json_problem, quoted
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText

LONGEST_VALUE = 4_096
"""Characters of a value: a reason of the longest size in JSON, with its options."""
_MOST_NAMED = 3
_BEGINS_AS_JSON = re.compile(r"\s*(\{|\[\s*[{\[\"])")
"""An object, or a list of objects, lists or strings. `[INC-4711] disk` and `"kernel" upgrade` are reasons."""
_TWO_FORMS = 'write the reason in plain words, or a JSON object such as {"reason": "replacing its disk"}'
_OURS = OF_COMMANDS | {"identity"}
"""The fields of a message that we fill in."""
KEPT_OUT = (
    f"to keep out a healthy Node, use the label {EXCLUDE_LABEL}=true, "
    "more in docs/cli-orders.md#before-it-fails"
)
"""Advice for `hold` and `abort` without an incident: the sender may want to keep out a healthy target."""
CANCELLED = "its workflow was cancelled in Temporal"
TURNED_OFF = "the policy turns orders by annotation off (ordersByAnnotation)"


class ReceiptOutcome(StrEnum):
    """The result of an order for one incident."""

    GIVEN = "Given"
    REFUSED = "Refused"
    """The incident refuses it, or has ended."""
    UNANSWERED = "Unanswered"
    """No worker answered in time, or Temporal cannot be asked; the order is given again."""


class Receipt(Frozen):
    """The answer of one incident to an order."""

    incident: str
    """The check and the target, for people."""
    outcome: OpenEnum[ReceiptOutcome]
    words: ShortText

    @classmethod
    def of(cls, incident: IncidentReference, outcome: ReceiptOutcome, words: str) -> Self:
        return cls(incident=f"{incident.check.name}/{incident.target.name}", outcome=outcome, words=words)


def parsed(key: AnnotatedOrderKey, value: str, manager: str) -> OrderMessage | Refusal:
    """The message of a value that the field manager `manager` wrote."""
    spec = ORDERS.get(key.order)
    if spec is None:
        return Refusal(f"this version has no order {key.order!r}")
    if len(value) > LONGEST_VALUE:
        return Refusal(f"the value has {len(value):,} characters, and at most {LONGEST_VALUE:,} are read")
    fields = _fields(value)
    if isinstance(fields, Refusal):
        return fields
    unknown = fields.keys() - spec.message.model_fields.keys() | fields.keys() & _OURS
    if why := unknown_field(spec.message, unknown, _OURS):
        return Refusal(why)
    reason = fields.get("reason", "")
    if isinstance(reason, str) and len(reason) > LONGEST_REASON:
        return Refusal(
            f"has {len(reason):,} characters, and at most {LONGEST_REASON:,} are allowed", field="reason"
        )
    identity = f"kubectl annotation on {key.subject}" + (f" (manager {manager})" if manager else "")
    try:
        message: OrderMessage = spec.message.model_validate({**fields, "identity": identity})
    except ValidationError as error:
        return _refused(error)
    return message


def _fields(value: str) -> dict[str, object] | Refusal:
    """The fields of a value: a JSON object, or the reason as plain text or as a JSON string."""
    try:
        content = from_json(value)
    except ValueError as error:
        if _BEGINS_AS_JSON.match(value) is None:
            return {"reason": value.strip()}
        return Refusal(f"the value begins like JSON, and {json_problem(str(error))}: {_TWO_FORMS}")
    match content:
        case dict():
            return content
        case str():
            return {"reason": content.strip()}
        case bool() | None | list():
            return Refusal(f"the value is {quoted(content, LONGEST_QUOTE)}: {_TWO_FORMS}")
        case _:  # a number, such as that of a ticket
            return {"reason": value.strip()}


def _refused(error: ValidationError) -> Refusal:
    problem = FieldProblem.of(error, LONGEST_QUOTE)
    return Refusal(problem.sentence, field=problem.field)


def no_incident(key: AnnotatedOrderKey) -> str:
    """Why an order without an open incident has no effect, and what to use instead."""
    spec = ORDERS.get(key.order)
    advice = f"; {KEPT_OUT}" if spec is not None and spec.blocks is not None else ""
    return f"{key.subject} has no open incident, and orders are for open incidents{advice}"


def refused_event(key: AnnotatedOrderKey, seed: str, refusal: Refusal) -> Event:
    """The Event of an order that no incident got."""
    field = f"{refusal.field} " if refusal.field else ""
    return _event(key, seed, f"refused: {field}{refusal.why}", is_refused=True)


def answered_event(key: AnnotatedOrderKey, seed: str, receipts: Sequence[Receipt], left_out: int) -> Event:
    """The Event of an order that incidents answered; `left_out` further ones did not get it."""
    given = [receipt for receipt in receipts if receipt.outcome == ReceiptOutcome.GIVEN]
    others = [receipt for receipt in receipts if receipt.outcome != ReceiptOutcome.GIVEN]
    parts = [_listed(given), f"refused by {_listed(others)}" if others else ""]
    if left_out:
        parts.append(f"{left_out} more incidents did not get it: annotate their targets")
    return _event(key, seed, "; ".join(filter(None, parts)), is_refused=not given)


def kept_event(key: AnnotatedOrderKey, seed: str, why: str) -> Event:
    """The Event of an annotation whose removal the cluster refuses."""
    words = (
        f"stays, because the cluster refuses its removal, and is not taken again; remove it yourself: {why}"
    )
    return Event(
        seed=f"{seed}\nkept",
        severity=Severity.WARNING,
        reason="OrderAnnotationKept",
        message=f"{key.annotation} {words}",
    )


def _listed(receipts: Sequence[Receipt]) -> str:
    named = "; ".join(f"{receipt.incident}: {receipt.words}" for receipt in receipts[:_MOST_NAMED])
    more = len(receipts) - _MOST_NAMED
    return f"{named}; and {more} more" if more > 0 else named


def _event(key: AnnotatedOrderKey, seed: str, words: str, *, is_refused: bool) -> Event:
    return Event(
        seed=seed,
        severity=Severity.WARNING if is_refused else Severity.NORMAL,
        reason="OrderRefused" if is_refused else "OrderTaken",
        message=f"{key.annotation}: {words}",
    )
