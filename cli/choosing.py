"""Choosing: options that take one of some words, any word, or a number; a refusal says what is allowed.

typer's own refusals are those of the library that it validates with, and speak of that library's types.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import typer

MOST = 10**18 - 1
Choice = TypeVar("Choice", bound=StrEnum)


def one_of(kind: type[Choice]) -> Callable[[str], Choice]:
    """A parser that takes the words of `kind`, whatever their case."""

    def parse(text: str) -> Choice:
        for choice in kind:
            if choice.casefold() == text.casefold():
                return choice
        raise typer.BadParameter(f"'{text}' is not one of {', '.join(kind)}")

    return parse


def words(kind: type[StrEnum]) -> str:
    """What `--help` shows as the value of such an option."""
    return f"[{'|'.join(kind)}]"


def filled(text: str) -> str:
    """A parser that takes any words; none at all is mostly a variable of a script that is not set."""
    if not text.strip():
        raise typer.BadParameter("must not be empty")
    return text


def at_least(least: int, most: int = MOST) -> Callable[[str | int], int]:
    """A parser that takes whole numbers from `least` to `most`."""

    def parse(given: str | int) -> int:
        text = str(given)
        if re.fullmatch(r"[0-9]{1,18}", text) and least <= int(text) <= most:
            return int(text)
        end = "on" if most == MOST else f"to {most}"
        raise typer.BadParameter(f"'{text}' is not a whole number from {least} {end}")

    return parse
