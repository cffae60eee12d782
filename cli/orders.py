"""`paramedic abort`, `hold` and `resume`: a person's orders to incidents.

An order is sent as an update, which a worker answers. Where none does, or the code of the incident fails, it
is sent as a signal: Temporal keeps it, and the incident obeys as soon as a worker goes on.
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
from cli.errors import CommandError, ExitCode, UsageError, carry_out, fail, say
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
"""Characters; each row of a list has it, so what is longer belongs into a ticket."""


def parse_reason(text: str) -> str:
    """A parser that takes words that are shown in many places."""
    if len(text) > LONGEST_REASON:
        raise typer.BadParameter(f"has {len(text)} characters, at most {LONGEST_REASON} are taken")
    return filled(text)


Names = Annotated[list[str], typer.Argument(parser=incident_name, metavar="NAME...", help=NAME_HELP)]
Reason = Annotated[
    str | None,
    typer.Option(parser=parse_reason, metavar="WORDS", help="Why; it is shown wherever the incident is."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        parser=filled, metavar="CLUSTER", help="Of this cluster, where several have one of that name."
    ),
]
Step = Annotated[
    str | None,
    typer.Option(
        parser=filled,
        metavar="TEMPLATE",
        help="Delete all requests and begin anew with the step of this template.",
    ),
]


@dataclass(frozen=True)
class GivenOrder:
    """One order, to whichever incidents."""

    message: Order
    cluster: str

    @property
    def name(self) -> str:
        """Of its update, and of its signal."""
        return NAMES[type(self.message)]


def abort(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    duration: OrderTime = None,
    cluster: Cluster = None,
) -> None:
    """Clean up, and leave the node or Machine alone: until it has recovered, for a time, or until resume."""
    _give(context, names, GivenOrder(_message(AbortOrder, reason, duration), cluster or ""))


def hold(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    duration: OrderTime = None,
    cluster: Cluster = None,
) -> None:
    """Do nothing new for the node or Machine, for a time or until resume, and keep a request that exists."""
    _give(context, names, GivenOrder(_message(HoldOrder, reason, duration), cluster or ""))


def resume(
    context: typer.Context,
    names: Names,
    *,
    reason: Reason = None,
    step: Step = None,
    cluster: Cluster = None,
) -> None:
    """Take care of the node or Machine again, at once: ends abort, hold and a wait between two attempts.

    An escalation that has tried all its steps begins anew.
    """
    message = _message(ResumeOrder, reason, None).model_copy(update={"step": step or ""})
    _give(context, names, GivenOrder(message, cluster or ""))


def _message(kind: type[Message], reason: str | None, duration: timedelta | None) -> Message:
    given = {"reason": reason, "for_seconds": duration.total_seconds() if duration else None}
    return kind.model_validate({name: value for name, value in given.items() if value is not None})


def _give(context: typer.Context, given: Sequence[str], order: GivenOrder) -> None:
    names = list(dict.fromkeys(given))
    errors = carry_out(_give_all(context, names, order))
    if not errors:
        return
    if len(names) == 1:
        raise fail(errors[0])
    for error in errors:
        say(error)
    typer.echo(f"{order.name}: {len(names) - len(errors)} of {len(names)} done", err=True)
    raise typer.Exit(ExitCode.FAILED)


async def _give_all(context: typer.Context, names: Sequence[str], order: GivenOrder) -> list[CommandError]:
    """Give the order to all that can be found; what went wrong with the others."""
    async with temporal(context) as client:
        answers = await bounded(AT_ONCE, lambda name: _give_one(client, name, order), names)
    return [answer for answer in answers if answer is not None]


async def _give_one(client: Client, name: str, order: GivenOrder) -> CommandError | None:
    """What goes wrong with one keeps no other from it."""
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
    """Give one order to one incident; what became of it.

    Raises:
        CommandError: it was not given.
        RPCError: Temporal cannot be asked.

    """
    if summary.unreadable:  # what we send would be readable in Temporal, and what it answers not to us
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
    """Until when an order stands that was given at `now`; "" for one that does not."""
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
    """Until when an order stands whose time begins when it is obeyed."""
    if isinstance(order, ResumeOrder):
        return ""
    if order.for_seconds is None:
        return ", until resume"
    return f", for {in_words(timedelta(seconds=order.for_seconds))}"
