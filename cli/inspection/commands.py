"""`paramedic check`, `explain`, `simulate` and `remediate`: they read a cluster as its detector does.

Each command imports its work when it runs, because few commands need Kubernetes, and the time to load it.
"""

import sys
from collections.abc import Iterable
from datetime import timedelta
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated

import typer

from cli.incidents.names import incident_name, object_name
from cli.incidents.orders import parse_reason
from cli.shared.connection import identity_of
from cli.shared.errors import carry_out
from cli.shared.options import (
    CheckKinds,
    ClusterChoice,
    InspectedCluster,
    OfContext,
    PageOutput,
    look_back,
    parse_time,
    printed_as,
)
from cli.shared.terminal import PIPE_WIDTH, console, print_json, print_trimmed
from health.model.remediation_order import DEFAULT_TIME, LONGEST_TIME

Target = Annotated[
    str,
    typer.Argument(
        parser=object_name, metavar="NAME", help="A Node or Machine: NAME, KIND/NAME, NAMESPACE/NAME."
    ),
]


def explained_name(text: str) -> str:
    """Parse the name of a target, or CHECK/NAME."""
    kind, *others = text.split("/")
    if len(others) > 1 and kind.casefold() == "node":
        raise typer.BadParameter(f"{text!r}: Nodes have no namespace, give Node/{others[-1]}")
    return incident_name(text)


Output = Annotated[PageOutput, printed_as(PageOutput)]


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
    output: Output = PageOutput.TEXT,
) -> None:
    """Show one health check: counts, held targets by reason, requests, and how its incidents ended."""
    from cli.inspection.check import check_page, read_check  # noqa: PLC0415  see the module

    choice = ClusterChoice(context, kubeconfig_context, cluster, check_kinds)
    view = carry_out(read_check(choice, name, since))
    if output is PageOutput.JSON:
        print_json(view)
        return
    print_trimmed(check_page(view), console())
    _print_unknown([view.unknown_policy, *view.unknown_orders])
    if view.temporal_problem:
        _print_unknown([f"ended incidents are unknown: {view.temporal_problem}"])


def explain(  # noqa: PLR0913  each is an option
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            parser=explained_name,
            metavar="NAME",
            help="A Node or Machine: NAME, KIND/NAME, NAMESPACE/NAME, or CHECK/NAME.",
        ),
    ],
    *,
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    check_kinds: CheckKinds = None,
    output: Output = PageOutput.TEXT,
) -> None:
    """Explain why a Node or Machine is or is not remediated, or would be if it failed; writes nothing.

    The orders of people to its open incident count.
    """
    from cli.inspection.explanation import explanation_pages, explanations  # noqa: PLC0415

    choice = ClusterChoice(context, kubeconfig_context, cluster, check_kinds)
    found = carry_out(explanations(choice, name))
    if output is PageOutput.JSON:
        print_json(found)
        return
    for number, page in enumerate(explanation_pages(found, name)):
        if number:
            typer.echo()
        print_trimmed(page, console())
    _print_unknown([found.unknown_policy, *found.unknown_orders])


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
    output: Output = PageOutput.TEXT,
) -> None:
    """Simulate a check or a policy: which targets would be remediated or held, now and in the past."""
    from cli.inspection.simulating import simulation  # noqa: PLC0415  see the module
    from cli.inspection.simulation_view import simulation_page  # noqa: PLC0415

    choice = ClusterChoice(context, kubeconfig_context, cluster, check_kinds)
    view = carry_out(simulation(choice, file, since))
    if output is PageOutput.JSON:
        print_json(view)
        return
    print_trimmed(simulation_page(view), console())
    _print_unknown([view.warning, view.unknown_policy, *view.unknown_orders])
    if not view.has_defaults:
        _print_unknown(["you may not create checks, so the defaults of the API are missing"])
    if view.temporal_problem:
        _print_unknown([f"no incident was replayed: {view.temporal_problem}"])


def _order_time(text: str) -> timedelta:
    duration = parse_time(text)
    if not timedelta(seconds=1) <= duration <= LONGEST_TIME:
        raise typer.BadParameter(f"{text!r} must be from 1s to 24h")
    return duration


def remediate(  # noqa: PLR0913  each is an option
    context: typer.Context,
    name: Target,
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
    from cli.inspection.ordering import GivenRemediation, order_remediation  # noqa: PLC0415  see the module

    remediation = GivenRemediation(
        target=name,
        check=check,
        reason=reason,
        identity=identity_of(context.obj),
        duration=duration or DEFAULT_TIME,
        is_forced=force,
    )
    choice = ClusterChoice(context, kubeconfig_context, cluster, check_kinds)
    typer.echo(carry_out(order_remediation(choice, remediation)))


def _print_unknown(sentences: Iterable[str]) -> None:
    """In a terminal, wrap at its width between words."""
    width = get_terminal_size().columns if sys.stderr.isatty() else PIPE_WIDTH
    for sentence in filter(None, sentences):
        typer.echo(fill(f"paramedic: {sentence}", width, break_on_hyphens=False), err=True)
