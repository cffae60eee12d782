"""`paramedic upgrade`: shows the checks that are paused for an upgrade."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from cli.shared.connection import command_line, temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import PageOutput, printed_as
from cli.shared.parameters import filled
from cli.shared.terminal import console, plain, print_trimmed
from cli.upgrade.finding import last_upgrades, open_upgrades, with_state
from cli.upgrade.orders import forget, pause, unpause
from cli.upgrade.page import upgrade_page
from cli.upgrade.summary import UpgradeSummary
from cli.upgrade.view import UpgradesView, UpgradeView

upgrade = typer.Typer(name="upgrade", add_completion=False)
for order in (pause, unpause, forget):
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
    """Show the checks that are paused for an upgrade, since when and why; else those of the last upgrade.

    `pause`, `unpause` and `forget` are orders for one check.
    """
    if order := context.invoked_subcommand:
        _refuse_before(order, {"--cluster": cluster, "--output": output})
        return
    summaries, unknown = carry_out(_read(context, cluster or ""))
    if output is PageOutput.JSON:
        typer.echo(_json(summaries))
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
        found = await open_upgrades(client, cluster) or await last_upgrades(client, cluster)
        unknown = "" if found else await unknown_cluster(client, cluster)
        return await asyncio.gather(*(with_state(client, one) for one in found)), unknown


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


def _json(summaries: Sequence[UpgradeSummary]) -> str:
    now = datetime.now(UTC)
    views = tuple(UpgradeView.of(summary, now) for summary in summaries)
    return UpgradesView(upgrades=views).model_dump_json(indent=2)
