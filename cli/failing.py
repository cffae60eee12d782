"""Failing: how a command ends when it cannot do its work: one sentence on standard error, exit code 1."""

import typer


def fail(error: BaseException) -> typer.Exit:
    """The exit to raise from `error`, after saying what it says."""
    typer.secho(f"paramedic: {' '.join(str(error).split())}", fg="red", err=True)
    return typer.Exit(1)
