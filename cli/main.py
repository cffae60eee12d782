"""The `paramedic` command: one file a subcommand; errors are one sentence, exit codes are in the README."""

import typer

from cli.demo import demo
from cli.dev import dev
from cli.setup import setup

app = typer.Typer(
    name="paramedic",
    help="Durable remediation of unhealthy Kubernetes nodes and machines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(setup)
app.command()(dev)
app.command()(demo)


def run() -> None:
    """Entry point of the command."""
    app()


if __name__ == "__main__":
    run()
