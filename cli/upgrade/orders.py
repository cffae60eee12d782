"""`paramedic upgrade pause`, `unpause` and `forget`: orders to the upgrade pause of a cluster.

Each order is an update, which a worker answers. The name of the check is looked up among the checks that the
workflow knows; an unknown or ambiguous name is refused with the known ones. A pause with a duration needs no
upgrade: it starts the workflow, which looks up the name itself.
"""

from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import typer
from temporalio.client import Client, WorkflowUpdateRPCTimeoutOrCancelledError

from cli.incidents.names import object_name
from cli.incidents.orders import Reason
from cli.incidents.state_queries import NO_WORKER
from cli.shared.connection import identity_of, temporal
from cli.shared.errors import CommandError, NotFoundError, UsageError, carry_out
from cli.shared.options import PauseTime
from cli.shared.parameters import filled, is_called
from cli.shared.updating import RPC_TIMEOUT, answered
from cli.upgrade.beginning import as_written, beginning, refuse_without_upgrade, resolve_cluster
from cli.upgrade.finding import find_one, with_state
from cli.upgrade.summary import UpgradeSummary
from health.model.references import CheckReference
from objects.durations import in_words
from objects.timestamps import stamp
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder, upgrade_pause_id
from workflows.upgrade_orders import NAMES, Order

BEGINNING_TIMEOUT = timedelta(seconds=15)
"""Longer than usual: a workflow that starts waits for the detector's list of checks first."""
MOST_NAMED = 10
"""The most checks that an error lists."""
Message = TypeVar("Message", PauseOrder, UnpauseOrder, ForgetOrder)

Check = Annotated[
    str | None,
    typer.Argument(
        parser=object_name, metavar="CHECK", help="NAME, NAMESPACE/NAME, with or without KIND before it."
    ),
]
EveryCheck = Annotated[bool, typer.Option("--all", help="Every check, instead of CHECK.")]
Cluster = Annotated[
    str | None,
    typer.Option(parser=filled, metavar="CLUSTER", help="The cluster, if several are being upgraded."),
]


def pause(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    check: Check = None,
    *,
    is_all: EveryCheck = False,
    reason: Reason = None,
    duration: PauseTime = None,
    cluster: Cluster = None,
) -> None:
    """Pause a check until the upgrade is over, or for a time."""
    seconds = duration.total_seconds() if duration else None
    order = _with_reason(PauseOrder(for_seconds=seconds), reason)
    _give(context, _named(check, is_all=is_all), order, cluster or "")


def unpause(
    context: typer.Context,
    check: Check = None,
    *,
    is_all: EveryCheck = False,
    reason: Reason = None,
    cluster: Cluster = None,
) -> None:
    """Unpause a check that was paused for the upgrade; this upgrade does not pause it again."""
    order = _with_reason(UnpauseOrder(), reason)
    _give(context, _named(check, is_all=is_all), order, cluster or "")


def forget(
    context: typer.Context,
    check: Check = None,
    *,
    is_all: EveryCheck = False,
    reason: Reason = None,
    cluster: Cluster = None,
) -> None:
    """Treat a check as new in this upgrade: it is paused unless it is paused already."""
    order = _with_reason(ForgetOrder(), reason)
    _give(context, _named(check, is_all=is_all), order, cluster or "")


def _with_reason(order: Message, reason: str | None) -> Message:
    return order if reason is None else order.model_copy(update={"reason": reason})


def _named(check: str | None, *, is_all: bool) -> str:
    """The name of the check; "" means every check, which requires --all."""
    if is_all == (check is not None):
        raise typer.BadParameter("give one: the name of a check, or --all", param_hint="CHECK")
    return check or ""


def _give(context: typer.Context, name: str, order: Order, cluster: str) -> None:
    typer.echo(carry_out(_execute(context, name, order, cluster)))


async def _execute(context: typer.Context, name: str, order: Order, cluster: str) -> str:
    order = order.model_copy(update={"identity": identity_of(context.obj)})
    async with temporal(context) as client:
        # A cluster is not chosen just because it is the only one with an upgrade at the moment.
        cluster = cluster or await resolve_cluster(client, "")
        found = await find_one(client, cluster)
        if found is None:
            named, answer = await _start(client, name, order, cluster)
        else:
            named, answer = found.cluster, await _send(client, await with_state(client, found), name, order)
    return f"{named}: {answer}{standing(order, datetime.now(UTC))}"


async def _send(client: Client, summary: UpgradeSummary, name: str, order: Order) -> str:
    if summary.is_unreadable:  # we would send plain text, and could not decrypt the answer
        raise UsageError(f"{summary.problem}; nothing was ordered")
    check = str(resolve_check(name, summary)) if name else ""
    handle, update = client.get_workflow_handle(summary.workflow_id), NAMES[type(order)]
    updating = handle.execute_update(
        update, order.model_copy(update={"check": check}), result_type=str, rpc_timeout=RPC_TIMEOUT
    )
    return await _answer(handle.id, update, updating)


async def _start(client: Client, name: str, order: Order, cluster: str) -> tuple[str, str]:
    """The cluster, and the answer of the upgrade pause that this order starts."""
    refuse_without_upgrade(order, cluster)
    named, update = await resolve_cluster(client, cluster), NAMES[type(order)]
    updating = client.execute_update_with_start_workflow(
        update,
        order.model_copy(update={"check": as_written(name)}),
        start_workflow_operation=beginning(named, order),
        result_type=str,
        rpc_timeout=BEGINNING_TIMEOUT,
    )
    return named, await _answer(upgrade_pause_id(named), update, updating)


def resolve_check(name: str, summary: UpgradeSummary) -> CheckReference:
    """The check with that name.

    Raises:
        NotFoundError: there is none, or more than one.
        CommandError: the checks are unknown.

    """
    state = summary.state
    if state is None:
        raise CommandError(f"{summary.workflow_id} cannot be asked: {summary.problem}; nothing was ordered")
    if state.observed is None:
        raise CommandError(f"{summary.workflow_id} does not know the checks yet: no detector has answered")
    found = [check for check in summary.known_checks if is_called(name, check)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFoundError(f"{name!r} is ambiguous, say which: {_list(found)}")
    raise NotFoundError(
        f"no check that upgrades of {summary.cluster} pause is called {name!r}; "
        f"there are {_list(summary.known_checks)}"
    )


def _list(checks: Iterable[CheckReference]) -> str:
    names = sorted(map(str, checks))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"


def standing(order: Order, now: datetime) -> str:
    """Until when a pause with a duration stands, if given at `now`; "" for other orders."""
    if not isinstance(order, PauseOrder) or order.for_seconds is None:
        return ""
    duration = timedelta(seconds=order.for_seconds)
    return f"; until {stamp(now + duration)} (in {in_words(duration)}) at least"


async def _answer(workflow_id: str, name: str, updating: Awaitable[str]) -> str:
    try:
        return await answered(workflow_id, name, updating)
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise CommandError(
            f"{workflow_id}: {NO_WORKER}; `paramedic upgrade` shows whether the {name} was taken"
        ) from error
