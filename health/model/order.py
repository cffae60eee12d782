"""Orders of people: the base of their messages, the effects of standing orders, and their records. Pure.

`health.runbook.orders` is the table of all orders to an incident.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from objects.field_problem import quoted
from objects.frozen import Frozen, OpenEnum
from objects.short_text import PersonText, ShortText

LONGEST_ORDER = timedelta(days=366)
"""A longer time than any calendar holds would stop the workflow; without a time an order does not expire."""


LONGEST_REASON = 1_000
"""The longest reason, in characters, as each row of a list shows it; longer texts belong in a ticket."""


class OrderMessage(Frozen):
    """The input of an update or signal that gives an order. The Temporal UI sends one JSON value."""

    reason: PersonText = ""
    """ "": the sender gave no reason."""
    identity: PersonText = ""
    """The sender, in its own words; "": unknown. Temporal tells a workflow no identity."""
    order_id: PersonText = ""
    """The same each time that a program sends this order: the incident obeys it once. "": never sent again.

    Temporal recognizes an update that is sent again only within one run of the workflow.
    """


class StandingOrder(OrderMessage):
    """The message of an order that stands for a time, or until another order ends it."""

    for_seconds: float | None = Field(default=None, gt=0, le=LONGEST_ORDER.total_seconds())

    def until(self, now: datetime) -> datetime | None:
        """When the order expires if given now; None: never."""
        return None if self.for_seconds is None else now + timedelta(seconds=self.for_seconds)


class StepOrder(OrderMessage):
    """The message of an order that may name a step of an escalation by its template."""

    step: PersonText = ""
    """Its description is the help of the option `--step`."""


OF_COMMANDS = frozenset({"order_id"})
"""The fields of a message that people do not write."""
LONGEST_QUOTE = 60
"""Characters of a refused value or name in an answer."""


def unknown_field(message: type[OrderMessage], unknown: Iterable[str]) -> str:
    """The refusal of the first of these names, with all fields but `ours`; "": there is none."""
    first = min(unknown, default=None)
    if first is None:
        return ""
    fields = ", ".join(sorted(message.model_fields.keys() - OF_COMMANDS))
    return f"it has no field {quoted(first, LONGEST_QUOTE)}; the fields are {fields}"


class Blocks(StrEnum):
    """The restriction of an incident by a standing order."""

    STEPS = "Steps"
    """It takes no new step, and keeps existing requests."""
    REMEDIATION = "Remediation"
    """It deletes its requests, takes no step, and leaves the target alone."""


@dataclass(frozen=True)
class Refusal:
    """Why an order would have no effect, or another one than a person wants."""

    why: str
    field: str = ""
    """The field of the message that is refused; "": the whole order."""


class OrderRecord(Frozen):
    """One order of a person, with its reason and times."""

    order: str
    """The name of its row in the table of orders."""
    reason: PersonText
    """ "": the person gave none."""
    identity: PersonText = ""
    """The person, as the order says; "": unknown."""
    order_id: PersonText = ""
    given: datetime
    until: datetime | None = None
    """When the order expires; None: never."""
    blocks: OpenEnum[Blocks] | None = None
    """The restriction while it stands. The record has it, so that a worker without the row obeys it too."""
    step: PersonText = ""
    """The step that the order names by its template; "": it names none."""
    is_forced: bool = False
    """True if the order passes the threshold of the check."""
    is_pending: bool = False
    """True until an observation decides whether the incident obeys."""
    refused: ShortText = ""
    """Why that decision was a refusal; "": the incident obeys."""
    decided: datetime | None = None
    """When it was refused or obeyed by an observation; None: it needed none, or is pending."""
    is_reported: bool = False
    """True if the detector got it as it is now, and emitted its Event."""

    @property
    def words(self) -> str:
        """The name of the order with its step, reason and person, as far as they are known."""
        by = f" by {self.identity}" if self.identity else ""
        forced = " --force" if self.is_forced else ""
        return f"{self.order} {self.step}".strip() + forced + by + (f": {self.reason}" if self.reason else "")

    def is_over(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until
