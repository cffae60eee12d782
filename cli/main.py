"""The `paramedic` command; each subcommand has a module, docs/cli.md lists the exit codes."""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import typer
from typer import TyperException

from cli.dev import demo, dev
from cli.doctor.command import doctor
from cli.incidents.history import history
from cli.incidents.listing import list_incidents
from cli.incidents.orders import command as order_command
from cli.incidents.show import show
from cli.inspection.commands import check, explain, remediate, simulate
from cli.policy import policy
from cli.retire.command import retire
from cli.setup import setup
from cli.shadow import shadow
from cli.shared.connection import choose_temporal
from cli.shared.errors import ExitCode, print_error, print_usage_error
from cli.shared.output import Output, in_foreground
from cli.stop import start, stop
from cli.upgrade.command import upgrade
from health.runbook.orders import ORDERS
from runtime.exit import leave
from runtime.temporal import in_utf8

NO_FILES = ":4"
"""The last line of an answer to kubectl: it shall not complete names of files."""

app = typer.Typer(
    name="paramedic",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(choose_temporal)
app.command("list")(list_incidents)
orders = map(order_command, ORDERS.values())
commands: tuple[Callable[..., None], ...] = (
    show,
    history,
    shadow,
    *orders,
    remediate,
    stop,
    start,
    explain,
    check,
    simulate,
    doctor,
    setup,
    retire,
)
for command in commands:
    app.command()(command)
app.add_typer(upgrade)
app.add_typer(policy)
app.command()(in_foreground(dev))
app.command()(in_foreground(demo))


def run() -> NoReturn:
    output = Output.replace_streams()
    leave(output.ends_with(_run(output)))


def _run(output: Output) -> int:
    try:
        sys.argv[1:] = map(_argument, sys.argv[1:])
        code = app(prog_name=program_name(), standalone_mode=False)  # typer would draw a box around an error
    except TyperException as error:
        return print_usage_error(error)
    except ModuleNotFoundError as error:
        if error.name != "devcluster":
            raise
        print_error(
            "dev and demo need a source checkout of Paramedic: there, `make demo` runs the demo, "
            "and `.venv/bin/paramedic demo --context NAME` runs it in your cluster"
        )
        code = ExitCode.FAILED
    except SystemExit as error:
        code = error.code
    except OSError as error:
        if error is not output.flush():
            raise
        code = ExitCode.FAILED
    return code if isinstance(code, int) else int(bool(code))


def program_name() -> str:
    """The name in help texts: kubectl runs the command as its plugin `kubectl-paramedic`."""
    name = Path(sys.argv[0]).name
    return name.replace("kubectl-", "kubectl ", 1) if name.startswith("kubectl-") else "paramedic"


def _argument(text: str) -> str:
    try:
        return in_utf8(text)
    except UnicodeError as error:
        shown = os.fsencode(text).decode(errors="backslashreplace")
        raise typer.BadParameter(f"argument '{shown}' is not UTF-8") from error


def complete(words: Sequence[str]) -> None:
    """Print the completions of the last word, a line each, for kubectl and `kubectl_complete-paramedic`."""
    typed = {"COMP_WORDS": shlex.join(["paramedic", *words]), "COMP_CWORD": str(len(words))}
    os.environ.update(typed, _PARAMEDIC_COMPLETE="complete_bash")
    with suppress(SystemExit):
        app(prog_name="paramedic", standalone_mode=False)
    typer.echo(NO_FILES)


if __name__ == "__main__":
    run()
