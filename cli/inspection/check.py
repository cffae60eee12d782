"""`paramedic check`: one health check as it stands, and how its incidents ended."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.incidents.names import object_name
from cli.shared.errors import carry_out
from cli.shared.options import CheckKinds, InspectedCluster, OfContext, PageOutput, look_back, printed_as
from cli.shared.terminal import console, print_trimmed


def check(  # noqa: PLR0913  each is an option
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(parser=object_name, metavar="NAME", help="A check: NAME, KIND/NAME, NAMESPACE/NAME."),
    ],
    *,
    since: Annotated[
        timedelta, look_back("7d", "How far back to count ended incidents: 7d, 12h.")
    ] = timedelta(days=7),
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    check_kinds: CheckKinds = None,
    output: Annotated[PageOutput, printed_as(PageOutput)] = PageOutput.TEXT,
) -> None:
    """Show one health check: counts, held targets by reason, requests, and how its incidents ended."""
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.inspection.check_page import check_page  # noqa: PLC0415  see above
    from cli.inspection.checking import check_view  # noqa: PLC0415
    from cli.inspection.connecting import ClusterChoice  # noqa: PLC0415

    choice = ClusterChoice(
        context=context, kubeconfig_context=kubeconfig_context, cluster=cluster, check_kinds=check_kinds
    )
    view = carry_out(check_view(choice, name, since))
    if output is PageOutput.JSON:
        typer.echo(view.model_dump_json(indent=2))
        return
    print_trimmed(check_page(view), console(is_cut=False))
    for unknown in view.unknown_approvals:
        typer.echo(f"paramedic: {unknown}", err=True)
    if view.outcomes is None:
        typer.echo("paramedic: Temporal cannot be asked, so ended incidents are unknown", err=True)
