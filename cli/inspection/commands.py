"""`paramedic check`, `explain`, `simulate` and `remediate`: the leading detector answers them.

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
from cli.incidents.orders import reason_of
from cli.shared.connection import identity_of
from cli.shared.errors import carry_out
from cli.shared.options import (
    ClusterChoice,
    InspectedCluster,
    OfContext,
    OutputFormat,
    PageOutput,
    look_back,
    parse_time,
)
from cli.shared.terminal import PIPE_WIDTH, console, labelled_lines, print_json, print_trimmed
from health.model.remediation_order import DEFAULT_TIME, LONGEST_TIME


def explained_name(text: str) -> str:
    """Parse the name of a target, or CHECK/NAME."""
    kind, *others = text.split("/")
    if len(others) > 1 and kind.casefold() == "node":
        raise typer.BadParameter(f"{text!r}: Nodes have no namespace, give Node/{others[-1]}")
    return incident_name(text)


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
    output: PageOutput = OutputFormat.TEXT,
) -> None:
    """Show one health check: counts, held targets, requests.

    Held targets are listed by reason, and ended incidents by outcome.
    """
    from cli.inspection.check import check_lines, read_check  # noqa: PLC0415  see the module

    choice, is_json = ClusterChoice(context, kubeconfig_context, cluster), output is OutputFormat.JSON
    view = carry_out(read_check(choice, name, since, None if is_json else name))
    if is_json:
        print_json(view)
        return
    print_trimmed(labelled_lines(check_lines(view)), console())
    if view.problem_of_outcomes:
        _print_unknown([f"ended incidents are unknown: {view.problem_of_outcomes}"])


def explain(
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
    output: PageOutput = OutputFormat.TEXT,
) -> None:
    """Explain why a Node or Machine is or is not remediated.

    Of a healthy one: what would happen if it failed. It writes nothing.

    The orders of people to its open incident count.
    """
    from cli.inspection.explanation import explanation_pages  # noqa: PLC0415  see the module
    from cli.shared.leader import ask  # noqa: PLC0415
    from workflows.inspection_contracts import EXPLAIN, ExplainAnswer, NameInput  # noqa: PLC0415

    choice, is_json = ClusterChoice(context, kubeconfig_context, cluster), output is OutputFormat.JSON
    shown = None if is_json else name
    found = carry_out(ask(choice, EXPLAIN, NameInput(name=name), ExplainAnswer, shown))
    if is_json:
        print_json(found)
        return
    pages = list(explanation_pages(found))
    for number, lines in enumerate(pages):
        if number:
            typer.echo()
        print_trimmed(labelled_lines(lines), console())
    if not pages:
        typer.echo(f"no check selects {name!r}, so nothing is done if it fails")
    if found.left_out:
        _print_unknown([f"{found.left_out} more checks select it, or may select it"])


def simulate(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A health check, a policy, or its ConfigMap; - is standard input."
        ),
    ],
    *,
    kubeconfig_context: OfContext = None,
    cluster: InspectedCluster = None,
    output: PageOutput = OutputFormat.TEXT,
) -> None:
    """Simulate a check or a policy on the targets of now."""
    from cli.inspection.simulation import simulation, simulation_page  # noqa: PLC0415  see the module

    choice = ClusterChoice(context, kubeconfig_context, cluster)
    view = carry_out(simulation(choice, file))
    if output is OutputFormat.JSON:
        print_json(view)
        return
    print_trimmed(simulation_page(view), console())
    unwatched = ", ".join(view.unread_templates)
    _print_unknown(
        sentence
        for sentence, is_so in (
            (view.warning or "", view.warning),
            ("you may not create checks, so the defaults of the API are missing", not view.has_defaults),
            (f"the leader does not watch {unwatched} yet, so problems of it are unknown", unwatched),
            (f"{view.left_out} more targets or checks are left out", view.left_out),
        )
        if is_so
    )


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
    reason: Annotated[str, reason_of("What is broken; shown with the incident.")],
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
) -> None:
    """Order the remediation of a target that looks healthy.

    Its limits, Leases and other holds apply; back-off and maintenance windows do not.
    """
    from cli.inspection.order import order_remediation  # noqa: PLC0415  see the module
    from workflows.inspection_contracts import PreviewOrderInput  # noqa: PLC0415

    wanted = PreviewOrderInput(
        target=name,
        check=check,
        reason=reason,
        identity=identity_of(context.obj),
        duration_seconds=(duration or DEFAULT_TIME).total_seconds(),
        is_forced=force,
    )
    choice = ClusterChoice(context, kubeconfig_context, cluster)
    typer.echo(carry_out(order_remediation(choice, wanted)))


def _print_unknown(sentences: Iterable[str]) -> None:
    """In a terminal, wrap at its width between words."""
    width = get_terminal_size().columns if sys.stderr.isatty() else PIPE_WIDTH
    for sentence in filter(None, sentences):
        typer.echo(fill(f"paramedic: {sentence}", width, break_on_hyphens=False), err=True)
