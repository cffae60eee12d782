"""Sends a person's orders to incidents: `paramedic abort`, and a command for each other order of the table.

An order is an update, which a worker answers. If no worker answers, or the workflow task keeps failing, the
command sends a signal instead: Temporal keeps it, and the incident obeys it when a worker goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from inspect import signature
from typing import Annotated, Any
from uuid import uuid4

import typer
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from cli.incidents.names import LISTED, NAME_HELP, find_open, incident_name, open_incident_names
from cli.incidents.state_queries import (
    AT_ONCE,
    NO_WORKER,
    StateQueries,
    is_of_a_failing_task,
    read_task_failure,
)
from cli.incidents.visibility import IncidentSummary
from cli.shared.connection import because, identity_of, temporal
from cli.shared.errors import CommandError, ExitCode, UsageError, carry_out, fail, print_error
from cli.shared.options import OrderTime, filled, of_cluster
from cli.shared.workflow_update import ORDER_RPC_TIMEOUT, answered, ended, has_ended, refused
from health.model.annotations import HOLD
from health.model.node import EXCLUDE_LABEL
from health.model.order import LONGEST_REASON, OrderMessage, Refusal, StandingOrder
from health.runbook.orders import UNTIL_RESUME, OrderSpec, spec_of
from kube.rate_limiter import bounded
from objects.durations import in_words


def reason_of(help_text: str) -> Any:  # noqa: ANN401  as typer.Option
    """The option `--reason`, which many places show."""

    def parse(text: str) -> str:
        if len(text) > LONGEST_REASON:
            raise typer.BadParameter(f"has {len(text)} characters, at most {LONGEST_REASON} are taken")
        return filled(text)

    return typer.Option("--reason", parser=parse, metavar="WORDS", help=help_text)


Names = Annotated[
    list[str],
    typer.Argument(
        parser=incident_name, metavar="NAME...", help=NAME_HELP, autocompletion=open_incident_names
    ),
]
Reason = Annotated[str | None, reason_of("The reason, shown wherever the incident is shown.")]
Cluster = Annotated[str | None, of_cluster("The cluster, if several have an incident of that name.")]

KEPT_OUT = (
    f"to keep out a healthy Node, annotate it with {HOLD}, or use the label {EXCLUDE_LABEL}=true, "
    "more in docs/cli-orders.md#before-it-fails"
)
"""Advice for `hold` and `abort` without an incident: the sender may want to keep out a healthy target."""
_FIELDS = {"duration": "for_seconds", "step": "step"}
"""The options that only some messages have, with their fields."""


@dataclass(frozen=True)
class GivenOrder:
    """An order, and the cluster that it is limited to."""

    message: OrderMessage
    cluster: str | None
    """None: any cluster, if only one has an incident of that name."""

    @property
    def name(self) -> str:
        """The name of its update and of its signal."""
        return spec_of(self.message).name


def command(spec: OrderSpec[Any]) -> Callable[..., None]:
    """The command of an order, with the options that its message has."""
    field = spec.message.model_fields.get("step")

    def run(  # noqa: PLR0913  an argument for each option
        context: typer.Context,
        names: Names,
        *,
        reason: Reason = None,
        duration: OrderTime = None,
        step: Annotated[
            str | None,
            typer.Option(parser=filled, metavar="TEMPLATE", help=field.description if field else None),
        ] = None,
        cluster: Cluster = None,
    ) -> None:
        for_seconds = duration.total_seconds() if duration else None
        identity = identity_of(context.obj)
        values = {"reason": reason, "identity": identity, "for_seconds": for_seconds, "step": step}
        message = spec.message(**{name: value for name, value in values.items() if value is not None})
        _send(context, names, GivenOrder(message, cluster))

    hidden = {option for option, name in _FIELDS.items() if name not in spec.message.model_fields}
    whole = signature(run)
    options = [parameter for parameter in whole.parameters.values() if parameter.name not in hidden]
    run.__name__, run.__doc__ = spec.name, spec.help
    run.__signature__ = whole.replace(parameters=options)  # type: ignore[attr-defined]  # typer reads it
    return run


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
        advice = LISTED if spec_of(order.message).blocks is None else KEPT_OUT
        summary = await find_open(client, name, order.cluster, advice)
        answer = await give(client, summary, order)
    except CommandError as error:
        return error
    except RPCError as error:
        refusal = because(error, client)
        return type(refusal)(f"{name}: {refusal}")
    typer.echo(f"{summary.incident.cluster}: {summary.short_name}: {answer}")
    return None


async def give(client: Client, summary: IncidentSummary, order: GivenOrder) -> str:
    """Complete the order by the state of the incident, and send it. Returns the answer.

    Raises:
        CommandError: the order was not given.
        RPCError: Temporal cannot be asked.

    """
    complete = spec_of(order.message).complete
    if complete is not None and not summary.unreadable:
        state = (await StateQueries(client).one(summary)).state
        message = complete(order.message, state.situation(datetime.now(UTC)) if state else None)
        if isinstance(message, Refusal):
            raise refused(summary.incident.workflow_id, order.name, message)
        order = replace(order, message=message)
    return await send(client, summary, order)


async def send(client: Client, summary: IncidentSummary, order: GivenOrder) -> str:
    """Give the order to one incident. Returns its answer.

    Raises:
        CommandError: the order was not given.
        RPCError: Temporal cannot be asked.

    """
    if summary.unreadable:  # we would send plain text, and could not decrypt the answer
        raise UsageError(f"{summary.unreadable}; nothing was ordered")
    workflow_id = summary.incident.workflow_id
    # In any of its runs; a later incident of the target has the same workflow id.
    first_run = await _first_run(client.get_workflow_handle(workflow_id, run_id=summary.run_id))
    handle = client.get_workflow_handle(workflow_id, first_execution_run_id=first_run)
    # The incident obeys an id once, as an update and as the signal after it.
    message = order.message.model_copy(update={"order_id": uuid4().hex})
    order = replace(order, message=message)
    updating = handle.execute_update(
        order.name, message, id=message.order_id, result_type=str, rpc_timeout=ORDER_RPC_TIMEOUT
    )
    try:
        return await answered(handle.id, order.name, updating)
    except RPCError as error:
        if not is_of_a_failing_task(error):
            raise
    except WorkflowUpdateRPCTimeoutOrCancelledError:
        pass
    failure = await read_task_failure(client, handle.id, summary.run_id, ORDER_RPC_TIMEOUT)
    return await _leave_behind(client, handle, order, failure or NO_WORKER)


async def _first_run(handle: WorkflowHandle[object, object]) -> str | None:
    """The id of the first run of the incident; None if the server does not say it."""
    try:
        found = (await handle.describe(rpc_timeout=ORDER_RPC_TIMEOUT)).raw_description
    except RPCError as error:
        raise ended(handle.id, error) from error
    return found.workflow_execution_info.first_run_id or None


async def _leave_behind(
    client: Client, handle: WorkflowHandle[object, object], order: GivenOrder, why: str
) -> str:
    """Signal the incident; a signal can name no first run, so the present one is compared before."""
    present = client.get_workflow_handle(handle.id)
    if await _first_run(present) != handle.first_execution_run_id:
        raise has_ended(handle.id)
    try:
        await present.signal(order.name, order.message, rpc_timeout=ORDER_RPC_TIMEOUT)
    except RPCError as error:
        raise ended(handle.id, error) from error
    stands = ""  # once a worker has received it
    if isinstance(order.message, StandingOrder):
        seconds = order.message.for_seconds
        stands = f", {UNTIL_RESUME if seconds is None else f'for {in_words(timedelta(seconds=seconds))}'}"
    return (
        f"{why}; Temporal keeps the order; the incident gets it as soon as a worker "
        f"{'runs' if why == NO_WORKER else 'goes on'}{stands}"
    )
