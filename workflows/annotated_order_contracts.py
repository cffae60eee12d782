"""Contracts and messages of an order by annotation: the inputs and results of its workflow and activities.

The detector answers `find_recipients`, which Temporal retries without limit, because nothing is known without
a detector. The other activities return what failed; the workflow tries again with back-off. Each incident
gets the order as an update with an id of its own, so a repeated `give_order` gives no order twice.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from health.model.order_annotations import AnnotatedOrderKey
from health.model.references import IncidentReference
from health.runbook.annotated_order import Receipt
from objects.event import Severity
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText
from workflows.kit.calls import FOR_EVER, TWICE, Contract
from workflows.kit.runs import RunInput

ANNOTATED_ORDER = "AnnotatedOrder"
"""The type of the workflow."""
WAKE_ANNOTATED_ORDER = "wake"
"""The only signal of the detector, without an argument: the annotation came or changed."""
MOST_RECIPIENTS = 500
"""An order on a check is given to this many incidents: more would exceed the size of a message."""


class OrderAnswer(Frozen):
    """The content of the Event that answers the order."""

    severity: Severity
    reason: str
    message: str


class Recipients(Frozen):
    """The open incidents of the object, or why no incident gets the order."""

    incidents: tuple[IncidentReference, ...] = ()
    left_out: int = 0
    """The number of further incidents, over MOST_RECIPIENTS."""
    refused: str = ""


class AnnotatedOrderMemory(Frozen):
    """The state of the workflow that the cluster does not show, for the next run."""

    taken: str = ""
    """The digest of the value that was taken and could not be removed yet; "": none."""
    answer: OrderAnswer | None = None
    """The Event for this value, until it is emitted."""
    number: int = 1
    """The number of the value that is taken now, in this workflow."""
    giving: str = ""
    """The digest of the value that some incidents have not answered yet; "": none."""
    recipients: Recipients | None = None
    """The incidents that get it and have not answered; a later incident never gets it. None: not asked."""
    receipts: tuple[Receipt, ...] = ()
    """The answers of the others."""
    since: datetime | None = None
    """When its recipients were found: an incident that began later never gets it. None: not yet."""
    is_cancelled: bool = False
    """True if a person cancelled the workflow: no further incident gets the present value."""


class AnnotatedOrderInput(RunInput):
    """Starts the order of one annotation, or continues it in a new run."""

    key: AnnotatedOrderKey
    memory: AnnotatedOrderMemory = AnnotatedOrderMemory()


class AnnotatedOrderResult(Frozen):
    """The last answer, in words; "" if the annotation was gone before it was taken."""

    answer: str = ""


class ReadOrderInput(Frozen):
    """Asks for the value of the annotation, as the API server has it now."""

    key: AnnotatedOrderKey


class ReadOrderResult(Frozen):
    """The annotation, that it is gone, or the problem of the read."""

    digest: str = ""
    """The digest of the whole value; "": there is no such annotation."""
    value: str = ""
    """The value; of a value over LONGEST_VALUE only the beginning."""
    manager: ShortText = ""
    """The field manager that wrote it; "": unknown."""
    problem: ShortText = ""
    """Why it could not be read; "": it was read."""


class FindRecipientsInput(Frozen):
    """Asks the detector which open incidents the order is for."""

    key: AnnotatedOrderKey


class GiveOrderInput(Frozen):
    """Asks to give the order to each of these incidents."""

    order: str
    message: dict[str, Any]
    order_id: str
    """The same for each attempt to give this order, so that an incident obeys it once, in whichever run."""
    began_before: datetime | None = None
    """Incidents that began later refuse it; they may have the workflow id of an earlier one."""
    incidents: tuple[IncidentReference, ...]


class GiveOrderResult(Frozen):
    """The answers of the incidents, in the same order."""

    receipts: tuple[Receipt, ...] = ()


class AnswerOrderInput(Frozen):
    """Asks to emit the Event, and then to remove the annotation if it still has that value."""

    key: AnnotatedOrderKey
    digest: str
    seed: str
    """Distinguishes the Events of this value from those of others."""
    answer: OrderAnswer | None = None
    """None: the Event was emitted earlier."""


class RemovalOutcome(StrEnum):
    """The state of the annotation after the attempt to remove it."""

    GONE = "Gone"
    CHANGED = "Changed"
    """It has another value, which is the next order."""
    KEPT = "Kept"
    """It could not be removed."""


class AnswerOrderResult(Frozen):
    """The state of the annotation, and why it was kept."""

    outcome: OpenEnum[RemovalOutcome]
    why: ShortText = ""


_ATTEMPT, _ALL = timedelta(seconds=10), timedelta(seconds=25)

READ_ORDER = Contract(name="read_order", start_to_close=_ATTEMPT, schedule_to_close=_ALL, retry=TWICE)
FIND_RECIPIENTS = Contract(
    name="find_recipients", start_to_close=timedelta(seconds=5), schedule_to_close=None, retry=FOR_EVER
)
"""Answered by the leading detector; waits in its queue until there is one."""
GIVE_ORDER = Contract(
    name="give_order",
    start_to_close=timedelta(seconds=40),
    schedule_to_close=timedelta(seconds=90),
    retry=TWICE,
)
ANSWER_ORDER = Contract(name="answer_order", start_to_close=_ATTEMPT, schedule_to_close=_ALL, retry=TWICE)
