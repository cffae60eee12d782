"""Failing: how a command ends when it cannot do its work: one sentence on standard error, an exit code."""

import asyncio
import signal
from collections.abc import Coroutine, Mapping
from enum import IntEnum
from typing import Any, TypeVar

import typer
from typer import TyperException

from cli.terminal import plain

Result = TypeVar("Result")


class ExitCode(IntEnum):
    """What a shell is told; 130 is Ctrl-C, 143 is SIGTERM."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    """The command line or a setting is wrong."""
    NOT_FOUND = 3
    """Nothing of that name, or more than one: an incident, a check, a cluster."""
    UNREACHABLE = 4
    """Temporal is not there, or lets us not in."""
    UNHEARD = 128 + signal.SIGPIPE
    """Whoever read what the command says went away before its end."""


class CommandError(Exception):
    """A command cannot do its work; one sentence."""

    code = ExitCode.FAILED


class UsageError(CommandError):
    """A setting is wrong."""

    code = ExitCode.USAGE


class NotFoundError(CommandError):
    """Nothing of that name, or more than one."""

    code = ExitCode.NOT_FOUND


class UnreachableError(CommandError):
    """Temporal is not there, or lets us not in."""

    code = ExitCode.UNREACHABLE


def is_interrupted() -> bool:
    """Whether a signal came during a call to Temporal, which fails then as if Temporal were away."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def say(error: BaseException | str) -> None:
    """Say on standard error what went wrong, on one line."""
    typer.secho(f"paramedic: {' '.join(plain(str(error)).split())}", fg="red", err=True)


def fail(error: BaseException) -> typer.Exit:
    """The exit to raise from `error`, after saying what it says."""
    say(error)
    return typer.Exit(error.code if isinstance(error, CommandError) else ExitCode.FAILED)


def say_usage(error: TyperException) -> ExitCode:
    """Say what is wrong with a command line, and where it is written what is right."""
    context: typer.Context | None = getattr(error, "ctx", None)
    if message := error.format_message():  # without one, the help has been printed
        hint = f" (see {context.command_path} --help)" if context else ""
        say(f"{message[0].lower()}{message[1:].removesuffix('.')}{hint}")
    return ExitCode.USAGE


def wrong_setting(error: Exception, prefix: str, options: Mapping[str, object]) -> UsageError:
    """A setting is wrong; its sentence names the option where one was given in place of the variable."""
    sentence = str(error)
    for option, value in options.items():
        if value is not None:
            variable = f"{prefix}{option.upper()}: "
            sentence = sentence.replace(variable, f"--{option.replace('_', '-')}: ")
    return UsageError(sentence)


def carry_out(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`; a CommandError ends the command."""
    try:
        return asyncio.run(work)
    except CommandError as error:
        raise fail(error) from error
