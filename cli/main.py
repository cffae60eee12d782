"""The `paramedic` command: one file a subcommand; errors are one sentence, exit codes are in docs/cli.md."""

from typing import NoReturn

import typer
from typer import TyperException

from cli.connection import choose_temporal
from cli.demo import demo
from cli.dev import dev
from cli.doctor.command import doctor
from cli.failing import say_usage
from cli.listing import list_incidents
from cli.orders import abort, hold, resume
from cli.setup import setup
from cli.show import show
from runtime.leaving import leave

app = typer.Typer(
    name="paramedic", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.callback()(choose_temporal)
app.command("list")(list_incidents)
for command in (show, abort, hold, resume, doctor, setup, dev, demo):
    app.command()(command)


def run() -> NoReturn:
    """Entry point of the command."""
    leave(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)  # else typer draws a box around what is wrong
    except TyperException as error:
        return say_usage(error)
    except SystemExit as error:
        code = error.code
    return code if isinstance(code, int) else int(bool(code))


if __name__ == "__main__":
    run()
