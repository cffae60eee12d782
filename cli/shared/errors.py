"""Ends a command that failed: one sentence on standard error, and an exit code."""

import asyncio
import signal
from collections.abc import Coroutine, Mapping
from enum import IntEnum
from typing import Any, TypeVar

import typer
from typer import TyperException

from cli.shared.terminal import plain

Result = TypeVar("Result")


class ExitCode(IntEnum):
    """Exit codes of the commands; Ctrl-C gives 130, SIGTERM 143."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """The command line or a setting is wrong."""
    NOT_FOUND = 3
    """No incident, check or cluster has that name, or several have it."""
    UNREACHABLE = 4
    """Temporal is down or denies access."""
    UNHEARD = 128 + signal.SIGPIPE
    """The reader of standard output closed it early."""


class CommandError(Exception):
    """A command failed; the message is one sentence."""

    code = ExitCode.FAILED


class UsageError(CommandError):
    """The command line or a setting is wrong."""

    code = ExitCode.USAGE


class NotFoundError(CommandError):
    """No object has that name, or several have it."""

    code = ExitCode.NOT_FOUND


class UnreachableError(CommandError):
    """Temporal is down, or it denies access to us."""

    code = ExitCode.UNREACHABLE


def is_interrupted() -> bool:
    """True if a signal arrived during a call to Temporal; the call then fails as if Temporal were down."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def print_error(error: BaseException | str) -> None:
    """Print an error on standard error, on one line."""
    typer.secho(f"paramedic: {' '.join(plain(str(error)).split())}", fg="red", err=True)


def fail(error: BaseException) -> typer.Exit:
    """Print the error; the exit to raise from it."""
    print_error(error)
    return typer.Exit(error.code if isinstance(error, CommandError) else ExitCode.FAILED)


def print_usage_error(error: TyperException) -> ExitCode:
    """Print what is wrong with a command line, and which help describes the right one."""
    context: typer.Context | None = getattr(error, "ctx", None)
    if message := error.format_message():  # an empty message means that typer has printed the help
        hint = f" (see {context.command_path} --help)" if context else ""
        print_error(f"{message[0].lower()}{message[1:].removesuffix('.')}{hint}")
    return ExitCode.USAGE


def wrong_setting(error: Exception, prefix: str, options: Mapping[str, object]) -> UsageError:
    """The error of a wrong setting; it names the option if that was given in place of the variable."""
    sentence = str(error)
    for option, value in options.items():
        if value is not None:
            variable = f"{prefix}{option.upper()}: "
            sentence = sentence.replace(variable, f"--{option.replace('_', '-')}: ")
    return UsageError(sentence)


def carry_out(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work`; a CommandError ends the command."""
    try:
        return asyncio.run(work)
    except CommandError as error:
        raise fail(error) from error
