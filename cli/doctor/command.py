"""`paramedic doctor`: reports problems of the cluster and of Temporal, one finding on each line."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.doctor.finding import Examined, FindingSeverity
from cli.shared.errors import ExitCode, carry_out, fail, wrong_setting
from cli.shared.options import UNNAMED, OutputFormat, PageOutput, with_options
from cli.shared.terminal import Line, console, labelled_lines, plain, print_json, print_trimmed
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE, PREFIX, Settings, SettingsError

_STYLES = {
    FindingSeverity.PROBLEM: "bold red",
    FindingSeverity.WARNING: "yellow",
    FindingSeverity.NOTE: "blue",
}


def doctor(
    context: typer.Context,
    *,
    cluster: Annotated[
        str | None,
        typer.Option(
            help=f"The name of the cluster, as {CLUSTER_VARIABLE}, or its identity; "
            "by default that of the only installation."
        ),
    ] = None,
    check_kinds: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"The kinds that are handled, as {CHECK_KINDS_VARIABLE}."),
    ] = None,
    output: PageOutput = OutputFormat.TEXT,
) -> None:
    """Report problems of the cluster and of Temporal, with advice.

    The exit code is 1 if there are any.
    """
    # Imported here, because few commands need Kubernetes, and the time to load it.
    from cli.doctor.examination import examine  # noqa: PLC0415  see above

    environment = with_options(context, {CLUSTER_VARIABLE: cluster, CHECK_KINDS_VARIABLE: check_kinds})
    try:
        # Without a name of the cluster, `examine` finds the installation.
        settings = Settings.from_environment({CLUSTER_VARIABLE: UNNAMED} | environment)
    except SettingsError as error:
        raise fail(wrong_setting(error, PREFIX, context.params)) from error
    try:
        examined = carry_out(examine(settings, environment))
    except SettingsError as error:
        raise fail(wrong_setting(error, "TEMPORAL_", context.find_root().params)) from error
    if output is OutputFormat.JSON:
        print_json(examined)
    else:
        out = console()
        if out.is_terminal:
            print_trimmed(finding_table(examined), out)
        else:
            typer.echo("".join(f"{plain(str(finding))}\n" for finding in examined.findings), nl=False)
        typer.echo(examined.summary, err=True)
    if examined.is_wrong:
        raise typer.Exit(ExitCode.FAILED)


def finding_table(examined: Examined) -> Table:
    """The findings for a terminal: lines are wrapped beside their labels."""
    lines: list[Line] = []
    for finding in examined.findings:
        lines.append((Text(finding.severity, _STYLES[finding.severity]), Text(plain(finding.what))))
        lines.append((Text("advice", "dim"), Text(plain(finding.advice))))
    return labelled_lines(lines, label_style="")
