"""`paramedic remediate`: orders the remediation of a Node or Machine that looks healthy to its check."""

from datetime import timedelta
from typing import Annotated

import typer

from cli.incidents.names import object_name
from cli.incidents.orders import parse_reason
from cli.shared.connection import identity_of
from cli.shared.errors import carry_out
from cli.shared.options import CheckKinds, InspectedCluster, OfContext, parse_time
from health.model.remediation_order import DEFAULT_TIME, LONGEST_TIME

USER_AGENT = "paramedic-remediate"
"""Names the order in the audit log of the API server."""


def _order_time(text: str) -> timedelta:
    duration = parse_time(text)
    if not timedelta(seconds=1) <= duration <= LONGEST_TIME:
        raise typer.BadParameter(f"{text!r} must be from 1s to 24h")
    return duration


def remediate(  # noqa: PLR0913  each is an option
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            parser=object_name, metavar="NAME", help="A Node or Machine: NAME, KIND/NAME, NAMESPACE/NAME."
        ),
    ],
    *,
    check: Annotated[
        str,
        typer.Option(
            parser=object_name, metavar="CHECK", help="The check whose steps are taken; it selects NAME."
        ),
    ],
    reason: Annotated[
        str,
        typer.Option(parser=parse_reason, metavar="WORDS", help="What is broken; shown with the incident."),
    ],
    duration: Annotated[
        timedelta | None,
        typer.Option(
            "--for",
            parser=_order_time,
            metavar="DURATION",
            help="When the order expires, e.g. 30m, at most 24h; by default 1h.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also if the threshold of the check allows no remediation.")
    ] = False,
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    check_kinds: CheckKinds = None,
) -> None:
    """Order the remediation of a Node or Machine that looks healthy to its check.

    Its limits, Leases and other holds apply; back-off and maintenance windows do not.
    """
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.inspection.connecting import ClusterChoice  # noqa: PLC0415  see above
    from cli.inspection.ordering import GivenRemediation, order_remediation  # noqa: PLC0415

    choice = ClusterChoice(
        context=context,
        kubeconfig_context=kubeconfig_context,
        cluster=cluster,
        check_kinds=check_kinds,
        user_agent=USER_AGENT,
    )
    given = GivenRemediation(
        target=name,
        check=check,
        reason=reason,
        identity=identity_of(context.obj),
        duration=duration or DEFAULT_TIME,
        is_forced=force,
    )
    typer.echo(carry_out(order_remediation(choice, given)))
