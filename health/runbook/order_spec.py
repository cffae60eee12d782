"""OrderSpec: the parts of one row of the table of orders, and the situation that they read. Pure.

The last functions word the end of the standing orders hold and abort, and refuse an earlier end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from health.model.moves import Phase
from health.model.observation import Observation
from health.model.order import Blocks, OrderMessage, OrderRecord, Refusal, StandingOrder, StepOrder
from health.model.references import TemplateReference
from health.runbook.state import Memory
from objects.frozen import OpenEnum
from objects.timestamps import stamp

Message = TypeVar("Message", bound=OrderMessage)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """The state of an incident, by which an order is refused, or offered to a person."""

    phase: OpenEnum[Phase]
    memory: Memory
    observation: Observation | None
    """The latest observation; None: unknown while the incident asks the detector."""
    now: datetime
    templates: Sequence[TemplateReference] = ()
    """The templates of the check, as last seen."""


@dataclass(frozen=True, kw_only=True)
class OrderSpec(Generic[Message]):
    """One order: its message, its effect, when it is refused or offered, and its words."""

    name: str
    """The name of its update, of its signal and of its command."""
    message: type[Message]
    help: str
    """The help of its command; the first line stands in the list of commands."""
    answer: str
    """The answer of the update, with the fields of `order`, and followed by the reason if there is one."""
    is_offered: Callable[[Situation], bool]
    """True if `paramedic show` proposes the order in this situation."""
    label: str = ""
    """Its line in `paramedic show` while it stands; "": the order does not stand."""
    is_note: bool = False
    """True if it changes what people see and nothing that the incident does."""
    ended_by: str = "resume"
    """The order that ends it while it stands."""
    blocks: Blocks | None = None
    """The restriction while the order stands."""
    effect: Callable[[Memory, Message], Memory] = lambda memory, _: memory
    """Its change of the memory, beside standing and its record."""
    decide: Callable[[Memory, OrderRecord], Memory | Refusal] | None = None
    """Its effect by the memory alone, or its refusal, at once."""
    obey: Callable[[Memory, OrderRecord, Observation, datetime], Memory | Refusal] | None = None
    """Its effect by an observation after the order, where the memory alone is not enough."""
    refuse: Callable[[Message, Situation], Refusal | None] = lambda _order, _situation: None
    complete: Callable[[Message, Situation | None], Message | Refusal] | None = None
    """Adds to the message of a command what the state of the incident supplies; None: an unknown state."""
    steps: Callable[[Situation], Sequence[str]] = lambda _situation: ()
    """The values of `step` that `paramedic show` proposes."""

    def record(self, order: Message, now: datetime) -> OrderRecord:
        return OrderRecord(
            order=self.name,
            reason=order.reason,
            identity=order.identity,
            order_id=order.order_id,
            given=now,
            until=order.until(now) if isinstance(order, StandingOrder) else None,
            blocks=self.blocks,
            step=order.step if isinstance(order, StepOrder) else "",
            is_pending=self.obey is not None,
        )


UNTIL_RESUME = "until resume or its recovery"


def end_of(order: OrderRecord) -> str:
    """Until when an order that blocks steps stands, for people."""
    return f"until {stamp(order.until)}" if order.until else UNTIL_RESUME


def sooner(memory: Memory, order: OrderRecord) -> Refusal | None:
    """The refusal of an order that would end before the standing one of its name, which it would replace."""
    for standing in memory.standing:
        is_replaced = standing.order == order.order and not standing.is_over(order.given)
        if not is_replaced or order.blocks is None or order.until is None:
            continue
        if standing.until is None or order.until < standing.until:
            state = "left alone" if standing.blocks == Blocks.REMEDIATION else "held"
            by = f" by {standing.identity}" if standing.identity else ""
            why = f": {standing.reason}" if standing.reason else ""
            return Refusal(f"it is {state} {end_of(standing)}{by}{why}; resume first to shorten it")
    return None
