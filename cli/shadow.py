"""`paramedic shadow`: compares Paramedic in shadow with the present controller."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from cli.incidents.listing import OfCheck, OfCluster
from cli.incidents.state_queries import StateQueries
from cli.incidents.visibility import Filter, ended_since, open_incidents
from cli.shadow_report import ShadowReport
from cli.shared.connection import temporal
from cli.shared.errors import carry_out
from cli.shared.known_clusters import unknown_cluster
from cli.shared.options import look_back, printed_as
from cli.shared.terminal import console, plain, print_trimmed


class ReportOutput(StrEnum):
    """How `paramedic shadow` prints: for people or for scripts."""

    TABLE = "table"
    JSON = "json"


def shadow(
    context: typer.Context,
    *,
    since: Annotated[
        timedelta, look_back("7d", "How far back to list ended incidents: 7d, 12h.")
    ] = timedelta(days=7),
    check: OfCheck = None,
    cluster: OfCluster = None,
    output: Annotated[ReportOutput, printed_as(ReportOutput)] = ReportOutput.TABLE,
) -> None:
    """Compare what Paramedic would have done in shadow with what the present controller did."""
    wanted = Filter(check=check or "", cluster=cluster or "")
    report, unknown = carry_out(_read(context, wanted, datetime.now(UTC) - since))
    if output is ReportOutput.JSON:
        typer.echo(report.view.model_dump_json(indent=2))
    elif report.comparisons:
        print_trimmed(report.table, console(is_cut=False))
    of = "" if report.comparisons else wanted.words
    sentences = [*([f"{report.headline}{of}"] if output is ReportOutput.TABLE else []), unknown]
    if said := "; ".join(filter(None, sentences)):
        typer.echo(plain(said), err=True)


async def _read(context: typer.Context, wanted: Filter, since: datetime) -> tuple[ShadowReport, str]:
    """The report, and a sentence if the cluster is unknown."""
    async with temporal(context) as client:
        found = [*await open_incidents(client, wanted), *await ended_since(client, wanted, since)]
        unknown = "" if found else await unknown_cluster(client, wanted.cluster)
        return ShadowReport.of(await StateQueries(client).all(found), since), unknown
