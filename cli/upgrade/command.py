"""`paramedic upgrade`: shows the checks that are paused for an upgrade."""

import asyncio
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from cli.shared.ages import ago, short
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import Output, of_cluster, printed_as
from cli.shared.terminal import Line, console, labelled_lines, plain, print_json, print_trimmed, table_of
from cli.upgrade.orders import pause, unpause
from cli.upgrade.summary import UpgradesView, UpgradeView, last_upgrades, open_upgrades, with_state

upgrade = typer.Typer(name="upgrade", add_completion=False)
upgrade.command()(pause)
upgrade.command()(unpause)


@upgrade.callback(invoke_without_command=True)
def show_upgrades(
    context: typer.Context,
    *,
    cluster: Annotated[str | None, of_cluster("Only of this cluster.")] = None,
    output: Annotated[Output | None, printed_as(Output.TEXT, Output.JSON)] = None,
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
    if output is Output.JSON:
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


def upgrade_page(upgrade: UpgradeView, now: datetime, command: str = "paramedic") -> RenderableType:
    """Labels and values, and a table of the checks; `command` begins the suggested orders."""
    lines = labelled_lines(_lines(upgrade, now, command))
    if not upgrade.checks:
        return lines
    table = table_of(("CHECK", "STATE", "SINCE", "BY", "WHY"), no_wrap=("STATE", "SINCE"))
    for check in upgrade.checks:
        since = short(now - check.since) if check.since else "-"
        why = f"{check.why}; it failed: {check.problem}" if check.problem else check.why
        table.add_row(check.check, check.state, since, check.identity or "-", why)
    return Group(lines, "", table)


def _lines(upgrade: UpgradeView, now: datetime, command: str) -> Iterator[Line]:
    yield "Cluster", upgrade.cluster
    if upgrade.closed_at is None:
        yield "Began", ago(upgrade.started_at, now)
    else:
        yield "Ended", f"{ago(upgrade.closed_at, now)}: {upgrade.status}"
    if upgrade.problem:
        yield "Unknown", upgrade.problem
    if upgrade.details:
        yield "State", upgrade.details
    if upgrade.upgrading_since is not None:
        yield "Upgrade", f"since {ago(upgrade.upgrading_since, now)}"
    if upgrade.told_as_long_at is not None:
        yield "Takes long", f"warned {ago(upgrade.told_as_long_at, now)}"
    for order in upgrade.orders:
        by = f" by {order.identity}" if order.identity else ""
        until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
        given = f"{order.order} {order.check or 'every check'}{until}{by}, {ago(order.given_at, now)}"
        yield "Order", f"{given}: {order.reason}"
    if upgrade.checks_left_out:
        yield "Checks", f"{upgrade.checks_left_out} more than are listed"
    if upgrade.closed_at is None:
        where = f"--cluster {shlex.quote(upgrade.cluster)}"
        yield "You can", f"{command} upgrade pause|unpause CHECK {where} --reason WORDS"
    yield "Workflow", upgrade.workflow_id
