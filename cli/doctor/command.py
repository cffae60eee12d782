"""`paramedic doctor`: what is wrong with the cluster and with Temporal, one finding a line."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from cli.choosing import one_of, words
from cli.console import console
from cli.doctor.finding import Finding, Severity, summary
from cli.failing import ExitCode, UsageError, carry_out, fail
from health.frozen import Frozen
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE, Settings, SettingsError

_STYLES = {Severity.PROBLEM: "bold red", Severity.WARNING: "yellow"}


class FindingsOutput(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"


class FindingsView(Frozen):
    """What `-o json` prints."""

    findings: tuple[Finding, ...]


def doctor(
    context: typer.Context,
    *,
    cluster: Annotated[
        str | None, typer.Option(help=f"The configured name of the cluster, as {CLUSTER_VARIABLE}.")
    ] = None,
    check_kinds: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"The kinds that are handled, as {CHECK_KINDS_VARIABLE}."),
    ] = None,
    output: Annotated[
        FindingsOutput,
        typer.Option(
            "-o",
            "--output",
            parser=one_of(FindingsOutput),
            metavar=words(FindingsOutput),
            help="How to print.",
        ),
    ] = FindingsOutput.TEXT,
) -> None:
    """Say what is wrong with the cluster and with Temporal, and what to do; exit code 1 if anything is."""
    # Here, because no other command needs Kubernetes, nor the time to load it.
    from cli.doctor.examination import examine  # noqa: PLC0415  see above

    given = {CLUSTER_VARIABLE: cluster, CHECK_KINDS_VARIABLE: check_kinds}
    environment: dict[str, str] = context.obj | {
        name: value for name, value in given.items() if value is not None
    }
    found = carry_out(examine(_settings(environment), environment))
    _print(found, output)
    if found:
        raise typer.Exit(ExitCode.FAILED)


def _settings(environment: dict[str, str]) -> Settings:
    try:
        return Settings.from_environment(environment)
    except SettingsError as error:
        raise fail(UsageError(str(error))) from error


def _print(found: Sequence[Finding], output: FindingsOutput) -> None:
    if output is FindingsOutput.JSON:
        typer.echo(FindingsView(findings=tuple(found)).model_dump_json(indent=2))
        return
    for finding in found:
        line = Text(str(finding))
        line.stylize(_STYLES[finding.severity], 0, len(finding.severity))
        console(is_cut=False).print(line)
    typer.echo(summary(found), err=True)
