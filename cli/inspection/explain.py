"""`paramedic explain`: why a Node or Machine is, or would be, remediated or held."""

from typing import Annotated

import typer

from cli.incidents.names import object_name
from cli.shared.errors import carry_out
from cli.shared.options import CheckKinds, InspectedCluster, OfContext, PageOutput, printed_as
from cli.shared.terminal import console, print_trimmed


def explain(  # noqa: PLR0913  each is an option
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            parser=object_name, metavar="NAME", help="A Node or Machine: NAME, KIND/NAME, NAMESPACE/NAME."
        ),
    ],
    *,
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    check_kinds: CheckKinds = None,
    output: Annotated[PageOutput, printed_as(PageOutput)] = PageOutput.TEXT,
) -> None:
    """Explain why a Node or Machine is or is not remediated, or would be if it failed; writes nothing."""
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.inspection.connecting import ClusterChoice  # noqa: PLC0415  see above
    from cli.inspection.explaining import Explanations, explanations, nothing_selects  # noqa: PLC0415
    from cli.inspection.explanation_page import explanation_page  # noqa: PLC0415

    choice = ClusterChoice(
        context=context, kubeconfig_context=kubeconfig_context, cluster=cluster, check_kinds=check_kinds
    )
    found: Explanations = carry_out(explanations(choice, name))
    if output is PageOutput.JSON:
        typer.echo(found.model_dump_json(indent=2))
        return
    if not found.checks:
        typer.echo(nothing_selects(name, found.unread_checks))
    for number, view in enumerate(found.checks):
        if number:
            typer.echo()
        print_trimmed(explanation_page(view, found.at), console(is_cut=False))
    for unread in (*found.invalid_checks, *found.unknown_approvals):
        typer.echo(f"paramedic: {unread}", err=True)
