"""`paramedic upgrade`: shows the checks that are paused for an upgrade; `pause` and `unpause` are orders.

Each order is an update, which the workflow answers once a sync has carried it out. The sync looks up the name
of the check; an unknown or ambiguous name is refused with the known ones.

A pause with a duration needs no upgrade: the call that gives it starts the workflow. Temporal knows the
cluster by its workflows, or by the pollers of its task queue if the full identity is given. Other orders need
an upgrade and are refused with advice.
"""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import uuid4

import typer
from temporalio.client import Client, WithStartWorkflowOperation, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError

from cli.incidents.names import object_name
from cli.incidents.orders import Reason
from cli.incidents.state_queries import NO_WORKER
from cli.shared.connection import command_line, identity_of, temporal
from cli.shared.errors import CommandError, NotFoundError, UsageError, carry_out
from cli.shared.known_clusters import known_clusters, unknown_cluster
from cli.shared.options import OutputFormat, PauseTime, of_cluster, printed_as
from cli.shared.terminal import console, plain, print_json, print_trimmed
from cli.shared.workflow_update import answered
from cli.upgrade.summary import (
    UpgradeSummary,
    UpgradesView,
    UpgradeView,
    find_one,
    last_upgrades,
    open_upgrades,
    upgrade_page,
    with_state,
)
from health.kinds.registry import CHECK_KINDS
from health.model.references import kind_name, with_kind
from health.upgrade.decision import OrderName, PauseRefusal
from objects.clusters import is_cluster_called
from objects.durations import in_words
from objects.timestamps import stamp
from runtime import search_attributes
from runtime.polling import workers_polling
from workflows.contracts import worker_queue
from workflows.kit import in_summary
from workflows.upgrade_contracts import (
    UPGRADE_PAUSE,
    PauseOrder,
    UnpauseOrder,
    UpgradePauseInput,
    upgrade_pause_id,
)

upgrade = typer.Typer(name="upgrade", add_completion=False)
Order = PauseOrder | UnpauseOrder

NO_SUCH_CHECK = {PauseRefusal.UNKNOWN_CHECK, PauseRefusal.AMBIGUOUS_CHECK}
ORDER_TIMEOUT = timedelta(seconds=15)
"""Longer than usual: the workflow answers once a sync has carried the order out."""

Check = Annotated[
    str | None,
    typer.Argument(
        parser=object_name, metavar="CHECK", help="NAME, NAMESPACE/NAME, with or without KIND before it."
    ),
]
EveryCheck = Annotated[bool, typer.Option("--all", help="Every check, instead of CHECK.")]
Cluster = Annotated[str | None, of_cluster("The cluster, if several are being upgraded.")]


@upgrade.callback(invoke_without_command=True)
def show_upgrades(
    context: typer.Context,
    *,
    cluster: Annotated[str | None, of_cluster("Only of this cluster.")] = None,
    output: Annotated[OutputFormat | None, printed_as(OutputFormat.TEXT, OutputFormat.JSON)] = None,
) -> None:
    """Show the checks that are paused for an upgrade.

    Since when and why; without an upgrade those of the last one.

    `pause` and `unpause` are orders for one check.
    """
    if order := context.invoked_subcommand:
        for option, value in (("--cluster", cluster), ("--output", output)):  # it would have no effect there
            if value is not None:
                raise typer.BadParameter(
                    f"is an option of `paramedic upgrade`, not of {order}", param_hint=option
                )
        return
    upgrades, unknown = carry_out(_read(context, cluster or ""))
    if output is OutputFormat.JSON:
        print_json(UpgradesView(upgrades=upgrades))
        if unknown:
            typer.echo(plain(unknown), err=True)
        return
    now, out = datetime.now(UTC), console()
    for number, view in enumerate(upgrades):
        if number:
            typer.echo()
        print_trimmed(upgrade_page(view, now, command_line(context)), out)
    if not any(view.closed_at is None for view in upgrades):
        of_cluster = f" of cluster {cluster!r}" if cluster else ""
        last = "; the last one is shown" if upgrades else ""
        names = f"; {unknown}" if unknown else ""
        typer.echo(plain(f"no upgrade pause{of_cluster} is open{last}{names}"), err=True)


async def _read(context: typer.Context, cluster: str) -> tuple[tuple[UpgradeView, ...], str | None]:
    """The upgrade pauses, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        summaries = await open_upgrades(client, cluster) or await last_upgrades(client, cluster)
        unknown = None if summaries else await unknown_cluster(client, cluster)
        known = await asyncio.gather(*(with_state(client, summary) for summary in summaries))
        return tuple(map(UpgradeView.of, known)), unknown


@upgrade.command()
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
    order = PauseOrder(
        check=_named(check, is_all=is_all),
        reason=reason or PauseOrder().reason,
        identity=identity_of(context.obj),
        order_id=uuid4().hex,
        for_seconds=duration.total_seconds() if duration else None,
    )
    typer.echo(carry_out(_execute(context, order, cluster)))


@upgrade.command()
def unpause(
    context: typer.Context,
    check: Check = None,
    *,
    is_all: EveryCheck = False,
    reason: Reason = None,
    cluster: Cluster = None,
) -> None:
    """Unpause a check that was paused for the upgrade; this upgrade does not pause it again."""
    order = UnpauseOrder(
        check=_named(check, is_all=is_all),
        reason=reason or UnpauseOrder().reason,
        identity=identity_of(context.obj),
        order_id=uuid4().hex,
    )
    typer.echo(carry_out(_execute(context, order, cluster)))


def _named(check: str | None, *, is_all: bool) -> str | None:
    """The name of the check as it is written, with its kind in the right case; None: every check."""
    if is_all == (check is not None):
        raise typer.BadParameter("give one: the name of a check, or --all", param_hint="CHECK")
    kinds = [kind_name(one.group_kind) for one in CHECK_KINDS.values() if one.upgrade_pause is not None]
    return check and next((full for kind in kinds if (full := with_kind(check, kind)) != check), check)


async def _execute(context: typer.Context, order: Order, cluster: str | None) -> str:
    async with temporal(context) as client:
        # A cluster is not chosen just because it is the only one with an upgrade at the moment.
        cluster = cluster or await _resolve_cluster(client, "")
        found = await find_one(client, cluster)
        if found is None:
            named, answer = await _start(client, order, cluster)
        else:
            named, answer = found.cluster, await _send(client, await with_state(client, found), order)
    return f"{named}: {answer}{standing(order, datetime.now(UTC))}"


async def _send(client: Client, summary: UpgradeSummary, order: Order) -> str:
    if summary.is_unreadable:  # we would send plain text, and could not decrypt the answer
        raise UsageError(f"{summary.problem}; nothing was ordered")
    if summary.state is None:
        raise CommandError(f"{summary.workflow_id} cannot be asked: {summary.problem}; nothing was ordered")
    handle, update = client.get_workflow_handle(summary.workflow_id), _update(order)
    updating = handle.execute_update(
        update, order, id=order.order_id, result_type=str, rpc_timeout=ORDER_TIMEOUT
    )
    return await _answer(handle.id, update, updating)


async def _start(client: Client, order: Order, cluster: str) -> tuple[str, str]:
    """The cluster, and the answer of the upgrade pause that this order starts.

    Raises:
        NotFoundError: the order needs an upgrade, or no such cluster is known.

    """
    none = f"no upgrade pause{f' of cluster {cluster!r}' if cluster else ''} is open"
    if isinstance(order, UnpauseOrder):
        raise NotFoundError(f"{none}, so it has paused no check; to unpause others: {_annotate('-')}")
    if order.for_seconds is None:
        by_hand = _annotate('=""')
        raise NotFoundError(f"{none}: give the pause a time, as with --for 2h, or write {by_hand}")
    named, update = await _resolve_cluster(client, cluster), _update(order)
    beginning: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        UPGRADE_PAUSE,
        UpgradePauseInput(cluster=named),
        id=upgrade_pause_id(named),
        task_queue=worker_queue(named),
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        search_attributes=search_attributes.of_cluster(named),
        static_summary=in_summary(f"begun by order: {order.reason}"),
    )
    updating = client.execute_update_with_start_workflow(
        update,
        order,
        id=order.order_id,
        start_workflow_operation=beginning,
        result_type=str,
        rpc_timeout=ORDER_TIMEOUT,
    )
    return named, await _answer(upgrade_pause_id(named), update, updating)


def _annotate(how: str) -> str:
    """The commands that write the annotation by hand."""
    commands = (
        f"kubectl annotate {kind.resource_name} -n NAMESPACE CHECK {kind.upgrade_pause.paused}{how}"
        for kind in CHECK_KINDS.values()
        if kind.upgrade_pause is not None
    )
    return "; ".join(f"`{command}`" for command in commands)


def _update(order: Order) -> OrderName:
    return OrderName.PAUSE if isinstance(order, PauseOrder) else OrderName.UNPAUSE


async def _resolve_cluster(client: Client, cluster: str) -> str:
    """The identity of the cluster with that name, or of the only cluster; a worker polls for it.

    Raises:
        NotFoundError: there is none, or more than one.
        RPCError: Temporal cannot be asked.

    """
    called = [identity for identity in await known_clusters(client) if is_cluster_called(cluster, identity)]
    candidates = called or ([cluster] if cluster else [])
    polled = [candidate for candidate in candidates if await workers_polling(client, worker_queue(candidate))]
    if len(polled) == 1:
        return polled[0]
    if polled:
        raise NotFoundError(f"there are several clusters, say which with --cluster: {', '.join(polled)}")
    if called:
        raise NotFoundError(f"no worker of {', '.join(called)} answers; nothing was ordered")
    description = f"called {cluster!r}" if cluster else "known by its workflows"
    raise NotFoundError(
        f"no cluster that a worker works for is {description}: say which with --cluster, by its full name, "
        "as in the ids of its workflows (prod-1a2b3c4d)"
    )


def standing(order: Order, now: datetime) -> str:
    """Until when a pause with a duration stands, if given at `now`; "" for other orders."""
    if not isinstance(order, PauseOrder) or order.for_seconds is None:
        return ""
    duration = timedelta(seconds=order.for_seconds)
    return f"; until {stamp(now + duration)} (in {in_words(duration)}) at least"


async def _answer(workflow_id: str, name: str, updating: Awaitable[str]) -> str:
    try:
        return await answered(workflow_id, name, updating)
    except CommandError as error:
        cause = error.__cause__.__cause__ if error.__cause__ else None
        if isinstance(cause, ApplicationError) and cause.type in NO_SUCH_CHECK:
            raise NotFoundError(str(error)) from error
        raise
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise CommandError(
            f"{workflow_id}: {NO_WORKER}; `paramedic upgrade` shows whether the {name} was taken"
        ) from error
