"""`paramedic retire`: ends what is under way before Paramedic is uninstalled."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.ages import parse_time
from cli.errors import carry_out, fail, wrong_setting
from cli.parameters import filled
from cli.stopping import InNamespace, OfContext
from runtime.settings import CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE, PREFIX, Settings, SettingsError

PATIENCE = "5m"


def retire(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    *,
    is_handed_over: Annotated[
        bool,
        typer.Option(
            "--hand-over", help="Leave requests and Leases as they are, for the operators to adopt."
        ),
    ] = False,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done now, and change nothing.")
    ] = False,
    is_without_temporal: Annotated[
        bool,
        typer.Option(
            "--without-temporal",
            help="Where Temporal is gone for good: clean up what can be told to be ours in Kubernetes.",
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            parser=filled,
            metavar="CLUSTER",
            help=f"The configured name of the cluster, as {CLUSTER_VARIABLE}, or its identity.",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            parser=filled,
            metavar="CLUSTER",
            help="Another name that this cluster has, or had: it is known, and what has that name is left.",
        ),
    ] = None,
    namespace: InNamespace = None,
    kubeconfig_context: OfContext = None,
    timeout: Annotated[
        timedelta,
        typer.Option(
            parser=parse_time, metavar="DURATION", help="How long to wait for what has to end, at most."
        ),
    ] = PATIENCE,  # type: ignore[assignment]  # typer parses it
) -> None:
    """End what is under way in a whole cluster, and remove what is Paramedic's, before it is uninstalled."""
    # Here, because few commands need Kubernetes, and the time to load it.
    from cli.retire.performing import Asked, perform  # noqa: PLC0415  see above

    given = {CLUSTER_VARIABLE: cluster, LEASE_NAMESPACE_VARIABLE: namespace}
    environment: dict[str, str] = context.obj | {
        name: value for name, value in given.items() if value is not None
    }
    try:
        settings = Settings.from_environment(environment)
    except SettingsError as error:
        raise fail(wrong_setting(error, PREFIX, context.params)) from error
    asked = Asked(
        settings,
        kubeconfig_context,
        timeout,
        is_handed_over=is_handed_over,
        is_dry=is_dry,
        is_without_temporal=is_without_temporal,
        beside=tuple(beside or ()),
    )
    carry_out(perform(context, asked, typer.echo, _tell_progress))


def _tell_progress(sentence: str) -> None:
    typer.echo(sentence, err=True)
