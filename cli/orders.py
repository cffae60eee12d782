"""`paramedic abort`, `hold` and `resume`: send a person's orders to incidents.

An order is an update, which a worker answers. If no worker answers, or the workflow task keeps failing, the
command sends a signal instead: Temporal keeps it, and the incident obeys it when a worker goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import typer
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from cli.ages import OrderTime
from cli.connection import because, temporal
from cli.errors import CommandError, ExitCode, UsageError, carry_out, fail, print_error
from cli.history import is_of_a_failing_task, read_task_failure
from cli.incident_queries import AT_ONCE, NO_WORKER
from cli.incident_summary import IncidentSummary
from cli.names import NAME_HELP, find_open, incident_name
from cli.parameters import filled
from cli.updating import RPC_TIMEOUT, answered, ended
from kube.bounded import bounded
from objects.durations import in_words
from objects.frozen import Frozen
from objects.timestamps import stamp
from workflows.messages import AbortOrder, HoldOrder, ResumeOrder
from workflows.orders import NAMES, Order

Message = TypeVar("Message", bound=Frozen)

LONGEST_REASON = 1000
"""The longest reason, in characters, as each row of a list shows it; longer texts belong in a ticket."""


def parse_reason(text: str) -> str:
    """Parse a reason, which many places show."""
    if len(text) > LONGEST_REASON:
        raise typer.BadParameter(f"has {len(text)} characters, at most {LONGEST_REASON} are taken")
    return filled(text)


Names = Annotated[list[str], typer.Argument(parser=incident_name, metavar="NAME...", help=NAME_HELP)]
Reason = Annotated[
    str | None,
    typer.Option(
        parser=parse_reason, metavar="WORDS", help="The reason, shown wherever the incident is shown."
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        parser=filled, metavar="CLUSTER", help="The cluster, if several have an incident of that name."
    ),
]
Step = Annotated[
    str | None,
    typer.Option(
        parser=filled,
        metavar="TEMPLATE",
        help="Delete all requests and start again at the step of this template.",
    ),
]


@dataclass(frozen=True)
class GivenOrder:
    """An order and the cluster it is limited to."""

    message: Order
    cluster: str

    @property
    def name(self) -> str:
        """The name of its update and of its signal."""
        return NAMES[type(self.message)]


def abort(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    duration: OrderTime = None,
    cluster: Cluster = None,
) -> None:
    """Clean up and leave the node or Machine alone until it has recovered, the time is over, or resume."""
    _send(context, names, GivenOrder(_message(AbortOrder, reason, duration), cluster or ""))


def hold(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    duration: OrderTime = None,
    cluster: Cluster = None,
) -> None:
    """Do nothing new for the node or Machine until the time is over or resume; existing requests stay."""
    _send(context, names, GivenOrder(_message(HoldOrder, reason, duration), cluster or ""))


def resume(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    step: Step = None,
    cluster: Cluster = None,
) -> None:
    """Handle the node or Machine again, at once: ends abort, hold and back-off.

    An exhausted escalation starts again.
    """
    message = _message(ResumeOrder, reason, None).model_copy(update={"step": step or ""})
    _send(context, names, GivenOrder(message, cluster or ""))


def _message(kind: type[Message], reason: str | None, duration: timedelta | None) -> Message:
    arguments = {"reason": reason, "for_seconds": duration.total_seconds() if duration else None}
    return kind.model_validate({name: value for name, value in arguments.items() if value is not None})


def _send(context: typer.Context, arguments: Sequence[str], order: GivenOrder) -> None:
    names = list(dict.fromkeys(arguments))
    errors = carry_out(_send_all(context, names, order))
    if not errors:
        return
    if len(names) == 1:
        raise fail(errors[0])
    for error in errors:
        print_error(error)
    typer.echo(f"{order.name}: {len(names) - len(errors)} of {len(names)} done", err=True)
    raise typer.Exit(ExitCode.FAILED)


async def _send_all(context: typer.Context, names: Sequence[str], order: GivenOrder) -> list[CommandError]:
    """Give the order to all named incidents. Returns the errors."""
    async with temporal(context) as client:
        answers = await bounded(AT_ONCE, lambda name: _send_one(client, name, order), names)
    return [answer for answer in answers if answer is not None]


async def _send_one(client: Client, name: str, order: GivenOrder) -> CommandError | None:
    """Give the order to one incident. Its error is returned, so that the others still get the order."""
    try:
        summary = await find_open(client, name, order.cluster)
        answer = await send(client, summary, order)
    except CommandError as error:
        return error
    except RPCError as error:
        refusal = because(error, client)
        return type(refusal)(f"{name}: {refusal}")
    incident = summary.incident
    typer.echo(f"{incident.cluster}: {incident.check.name}/{incident.target.name}: {answer}")
    return None


async def send(client: Client, summary: IncidentSummary, order: GivenOrder) -> str:
    """Give the order to one incident. Returns its answer.

    Raises:
        CommandError: the order was not given.
        RPCError: Temporal cannot be asked.

    """
    if summary.unreadable:  # we would send plain text, and could not decrypt the answer
        raise UsageError(f"{summary.unreadable}; nothing was ordered")
    handle = client.get_workflow_handle(summary.incident.workflow_id)
    updating = handle.execute_update(order.name, order.message, result_type=str, rpc_timeout=RPC_TIMEOUT)
    try:
        answer = await answered(handle.id, order.name, updating)
    except RPCError as error:
        if not is_of_a_failing_task(error):
            raise
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        pass
    else:
        return f"{answer}{standing(order.message, datetime.now(UTC))}"
    failure = await read_task_failure(client, handle.id, summary.run_id, RPC_TIMEOUT)
    return await _leave_behind(handle, order, str(failure or NO_WORKER))


def standing(order: Order, now: datetime) -> str:
    """Until when an order that is given at `now` stands; "" for `resume`."""
    if isinstance(order, ResumeOrder):
        return ""
    if order.for_seconds is None:
        return "; until resume"
    duration = timedelta(seconds=order.for_seconds)
    return f"; until {stamp(now + duration)} (in {in_words(duration)})"


async def _leave_behind(handle: WorkflowHandle[object, object], order: GivenOrder, why: str) -> str:
    try:
        await handle.signal(order.name, order.message, rpc_timeout=RPC_TIMEOUT)
    except RPCError as error:
        raise ended(handle.id, error) from error
    return (
        f"{why}; Temporal keeps the {order.name}, and it is obeyed as soon as a worker "
        f"{'runs' if why == NO_WORKER else 'goes on'}{_standing_later(order.message)}"
    )


def _standing_later(order: Order) -> str:
    """How long the order stands once a worker has received it."""
    if isinstance(order, ResumeOrder):
        return ""
    if order.for_seconds is None:
        return ", until resume"
    return f", for {in_words(timedelta(seconds=order.for_seconds))}"
