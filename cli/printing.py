"""Printing: tables to standard output, without the blanks that fill each line up to the longest."""

import typer
from rich.console import Console, RenderableType


def print_trimmed(what: RenderableType, console: Console) -> None:
    """Print `what`; no line of it ends with blanks."""
    with console.capture() as captured:
        console.print(what)
    typer.echo("\n".join(line.rstrip() for line in captured.get().removesuffix("\n").split("\n")))
