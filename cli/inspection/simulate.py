"""`paramedic simulate`: the decisions under a check or a policy, before it is applied."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.shared.errors import carry_out
from cli.shared.options import CheckKinds, InspectedCluster, OfContext, PageOutput, look_back, printed_as
from cli.shared.terminal import console, print_trimmed


def simulate(  # noqa: PLR0913  each is an option
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A health check, a policy, or its ConfigMap; - is standard input."
        ),
    ],
    *,
    since: Annotated[
        timedelta, look_back("30d", "How far back to replay recorded incidents: 30d, 12h.")
    ] = timedelta(days=30),
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    check_kinds: CheckKinds = None,
    output: Annotated[PageOutput, printed_as(PageOutput)] = PageOutput.TEXT,
) -> None:
    """Simulate a check or a policy: which targets would be remediated or held, now and in the past."""
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.inspection.connecting import ClusterChoice  # noqa: PLC0415  see above
    from cli.inspection.simulating import simulation  # noqa: PLC0415
    from cli.inspection.simulation_page import simulation_page  # noqa: PLC0415

    choice = ClusterChoice(
        context=context, kubeconfig_context=kubeconfig_context, cluster=cluster, check_kinds=check_kinds
    )
    view = carry_out(simulation(choice, file, since))
    if output is PageOutput.JSON:
        typer.echo(view.model_dump_json(indent=2))
        return
    print_trimmed(simulation_page(view), console(is_cut=False))
    for unknown in view.unknown_approvals:
        typer.echo(f"paramedic: {unknown}", err=True)
    if not view.has_defaults:
        typer.echo("paramedic: you may not create checks, so the defaults of the API are missing", err=True)
    if view.replay is None:
        typer.echo("paramedic: Temporal cannot be asked, so no incident was replayed", err=True)
