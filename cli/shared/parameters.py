"""Parsers of option and argument values (words, numbers, names); an error lists the allowed values.

They replace typer's own, whose errors speak of the types of the validation library.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import typer

MOST = 10**18 - 1
Choice = TypeVar("Choice", bound=StrEnum)


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """Parse a word of `kind`, in any case."""

    def parse(text: str) -> Choice:
        for choice in kind:
            if choice.casefold() == text.casefold():
                return choice
        raise typer.BadParameter(f"'{text}' is not one of {', '.join(kind)}")

    return parse


def words(kind: type[StrEnum]) -> str:
    """The metavar that `--help` shows for an option of these words."""
    return f"[{'|'.join(kind)}]"


def filled(text: str) -> str:
    """Parse any text that is not blank: a blank value is mostly an unset variable of a script."""
    if not text.strip():
        raise typer.BadParameter("must not be empty")
    return text


def at_least(least: int, most: int = MOST) -> Callable[[str | int], int]:
    """Parse a whole number from `least` to `most`."""

    def parse(value: str | int) -> int:
        text = str(value)
        if re.fullmatch(r"[0-9]{1,18}", text) and least <= int(text) <= most:
            return int(text)
        end = "on" if most == MOST else f"to {most}"
        raise typer.BadParameter(f"'{text}' is not a whole number from {least} {end}")

    return parse


def is_cluster_called(name: str, cluster: str) -> bool:
    """True if `name` is the identity of this cluster, or the configured name in it; "" matches all."""
    return name in ("", cluster, configured_name(cluster))


def configured_name(identity: str) -> str:
    """The name that processes of this identity are configured with."""
    return identity.rpartition("-")[0]


def identities(configured: str, identity: str) -> tuple[str, ...]:
    """The possible identities of the cluster that a person calls `configured`, the likeliest first.

    `identity` is that of processes with this configured name. If `configured` already ends with the same uid,
    it is itself an identity, unless a user has configured an identity as the name.
    """
    end = identity.removeprefix(configured)
    return (configured, identity) if configured.endswith(end) else (identity,)


def quoted(text: str) -> str:
    """A string literal of a Temporal query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
