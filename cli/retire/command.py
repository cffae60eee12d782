"""`paramedic retire`: ends all incidents, and removes our objects, before Paramedic is uninstalled."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.shared.errors import carry_out, fail, wrong_setting
from cli.shared.options import LeaseNamespace, OfContext, of_cluster, parse_time, with_options
from runtime.settings import CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE, PREFIX, Settings, SettingsError

PATIENCE = "5m"


def retire(  # noqa: PLR0913  typer reads one option a parameter
    context: typer.Context,
    *,
    is_handed_over: Annotated[
        bool,
        typer.Option("--hand-over", help="Keep requests and Leases, for the operators to adopt."),
    ] = False,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Print what the command would do now, and change nothing.")
    ] = False,
    is_without_temporal: Annotated[
        bool,
        typer.Option(
            "--without-temporal",
            help="If Temporal is lost for good: remove the objects that Kubernetes shows to be ours.",
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        of_cluster(f"The configured name of the cluster, as {CLUSTER_VARIABLE}, or its identity."),
    ] = None,
    namespace: LeaseNamespace = None,
    kubeconfig_context: OfContext = None,
    timeout: Annotated[
        timedelta,
        typer.Option(parser=parse_time, metavar="DURATION", help="The longest time to wait."),
    ] = PATIENCE,  # type: ignore[assignment]  # typer parses it
) -> None:
    """End all incidents and remove our objects, before an uninstall."""
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.retire.retirement import RetireOptions, perform  # noqa: PLC0415  see above

    values = {CLUSTER_VARIABLE: cluster, LEASE_NAMESPACE_VARIABLE: namespace}
    try:
        settings = Settings.from_environment(with_options(context, values))
    except SettingsError as error:
        raise fail(wrong_setting(error, PREFIX, context.params)) from error
    options = RetireOptions(
        settings=settings,
        kubeconfig_context=kubeconfig_context,
        within=timeout,
        is_handed_over=is_handed_over,
        is_dry=is_dry,
        is_without_temporal=is_without_temporal,
    )
    carry_out(perform(context, options))
