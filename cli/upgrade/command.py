"""`paramedic upgrade`: shows the checks that are paused for an upgrade."""

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table

from cli.shared.ages import ago, short
from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import PageOutput, printed_as
from cli.shared.parameters import filled
from cli.shared.terminal import console, plain, print_json, print_trimmed
from cli.upgrade.finding import last_upgrades, open_upgrades, with_state
from cli.upgrade.orders import pause, unpause
from cli.upgrade.summary import CheckPauseView, UpgradeSummary, UpgradesView, UpgradeView
from health.upgrade.orders import PauseOrderRecord
from workflows.upgrade_contracts import UpgradePauseState

upgrade = typer.Typer(name="upgrade", add_completion=False)
for order in (pause, unpause):
    upgrade.command()(order)


@upgrade.callback(invoke_without_command=True)
def show_upgrades(
    context: typer.Context,
    *,
    cluster: Annotated[
        str | None, typer.Option(parser=filled, metavar="CLUSTER", help="Only of this cluster.")
    ] = None,
    output: Annotated[PageOutput | None, printed_as(PageOutput)] = None,
) -> None:
    """Show the checks that are paused for an upgrade.

    Since when and why; without an upgrade those of the last one.

    `pause` and `unpause` are orders for one check.
    """
    if order := context.invoked_subcommand:
        _refuse_before(order, {"--cluster": cluster, "--output": output})
        return
    summaries, unknown = carry_out(_read(context, cluster or ""))
    if output is PageOutput.JSON:
        print_json(_view(summaries))
        if unknown:
            typer.echo(plain(unknown), err=True)
    else:
        _print(summaries, cluster or "", unknown, command_line(context))


def _refuse_before(order: str, options: dict[str, str | None]) -> None:
    """Refuse an option that would have no effect before a subcommand."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(
                f"is an option of `paramedic upgrade`, not of {order}", param_hint=option
            )


async def _read(context: typer.Context, cluster: str) -> tuple[Sequence[UpgradeSummary], str]:
    """The upgrade pauses, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        summaries = await open_upgrades(client, cluster) or await last_upgrades(client, cluster)
        unknown = "" if summaries else await unknown_cluster(client, cluster)
        return await asyncio.gather(*(with_state(client, summary) for summary in summaries)), unknown


def _print(summaries: Sequence[UpgradeSummary], cluster: str, unknown: str, command: str) -> None:
    now, out = datetime.now(UTC), console()
    for number, summary in enumerate(summaries):
        if number:
            typer.echo()
        print_trimmed(upgrade_page(summary, now, command), out)
    if not any(summary.is_open for summary in summaries):
        of_cluster = f" of cluster {cluster!r}" if cluster else ""
        last = "; the last one is shown" if summaries else ""
        names = f"; {unknown}" if unknown else ""
        typer.echo(plain(f"no upgrade pause{of_cluster} is open{last}{names}"), err=True)


def _view(summaries: Sequence[UpgradeSummary]) -> UpgradesView:
    return UpgradesView(upgrades=tuple(map(UpgradeView.of, summaries)))


Line = tuple[str, str]


def upgrade_page(summary: UpgradeSummary, now: datetime, command: str = "paramedic") -> RenderableType:
    """Labels and values, and a table of the checks; `command` begins the suggested orders."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    for line in _lines(summary, now, command):
        lines.add_row(*line)
    checks = summary.checks
    return Group(lines, "", _checks(checks, now)) if checks else lines


def _lines(summary: UpgradeSummary, now: datetime, command: str) -> Iterator[Line]:
    yield "Cluster", summary.cluster
    if summary.closed is None:
        yield "Began", ago(summary.started, now)
    else:
        yield "Ended", f"{ago(summary.closed, now)}: {summary.status}"
    if summary.problem:
        yield "Unknown", summary.problem
    if summary.state is not None:
        yield from _of_state(summary.state, now)
    if summary.is_open:
        yield "You can", _orders(command, summary.cluster)
    yield "Workflow", summary.workflow_id


def _of_state(state: UpgradePauseState, now: datetime) -> Iterator[Line]:
    memory = state.memory
    yield "State", state.details
    if memory.upgrade is not None and memory.upgrade.since is not None:
        yield "Upgrade", f"since {ago(memory.upgrade.since, now)}"
    if memory.warned_at is not None:
        yield "Takes long", f"warned {ago(memory.warned_at, now)}"
    for order in memory.orders:
        yield "Order", _order(order, now)
    if memory.synced is not None and memory.synced.left_out:
        yield "Checks", f"{memory.synced.left_out} more than are listed"


def _order(order: PauseOrderRecord, now: datetime) -> str:
    by = f" by {order.identity}" if order.identity else ""
    until = f", until {order.until:%Y-%m-%d %H:%M:%SZ}" if order.until else ""
    when = ago(order.given, now)
    return f"{order.order} {order.check or 'every check'}{until}{by}, {when}: {order.reason}"


def _orders(command: str, cluster: str) -> str:
    where = f"--cluster {shlex.quote(cluster)}"
    return f"{command} upgrade pause|unpause CHECK {where} --reason WORDS"


def _checks(checks: Sequence[CheckPauseView], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("CHECK", "STATE", "SINCE", "BY", "WHY"):
        table.add_column(name, overflow="fold", no_wrap=name in {"STATE", "SINCE"})
    for check in checks:
        since = short(now - check.since) if check.since else "-"
        table.add_row(check.check, check.state, since, check.identity or "-", _why(check))
    return table


def _why(check: CheckPauseView) -> str:
    return f"{check.why}; it failed: {check.problem}" if check.problem else check.why
