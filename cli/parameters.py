"""Values of options and arguments: words, numbers, names; a refusal says what is allowed.

typer's own refusals are those of the library that it validates with, and speak of that library's types.

A name may be given alone, with its kind (in any case and without its group, as kubectl takes it), with its
namespace, or with both.
Temporal compares whole values and beginnings of them: so what is in a namespace is found by its kind in the
query, and by its name here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import typer

from health.model.references import CheckReference, TargetReference
from runtime.search_attributes import keyword

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


def forms(reference: CheckReference | TargetReference) -> frozenset[str]:
    """Everything that people may call it."""
    kind, namespace, name = reference.kind_name, reference.namespace, reference.name
    return frozenset({name, f"{kind}/{name}", f"{namespace}/{name}" if namespace else name, str(reference)})


def with_kind(name: str, kind: str) -> str:
    """`name` with `kind` as it is written, if that is the kind in front of it, with its group or without."""
    first, slash, rest = name.partition("/")
    return f"{kind}/{rest}" if slash and first.casefold() in kind_names(kind) else name


def kind_names(kind: str) -> frozenset[str]:
    """What people may write for a kind, whatever the case; without a group it may be several kinds."""
    return frozenset({kind.casefold(), kind.partition(".")[0].casefold()})


def is_called(name: str, reference: CheckReference | TargetReference) -> bool:
    """Whether people may call it so."""
    return bool({name, with_kind(name, reference.kind_name)} & forms(reference))


def is_cluster_called(name: str, cluster: str) -> bool:
    """Whether people may call it so: by its identity, or the configured name in front of that; "" is any."""
    return name in ("", cluster, cluster.rpartition("-")[0])


@dataclass(frozen=True)
class NameFilter:
    """What Temporal is asked for one name of an attribute; "" is any."""

    attribute: str
    name: str
    kinds: tuple[tuple[str, bool], ...]
    """The kinds that there are, and whether each is namespaced."""

    @property
    def query(self) -> str:
        """A condition that is true of everything with that name, and of some others."""
        conditions = [self._condition(kind, is_namespaced=namespaced) for kind, namespaced in self.kinds]
        return f"({' OR '.join(conditions)})"

    def takes(self, reference: CheckReference | TargetReference) -> bool:
        """Whether that is its name."""
        return not self.name or is_called(self.name, reference)

    def _condition(self, kind: str, *, is_namespaced: bool) -> str:
        if is_namespaced:
            return f"{self.attribute} STARTS_WITH {quoted(f'{kind}/')}"
        name = with_kind(self.name, kind).removeprefix(f"{kind}/")
        return f"{self.attribute} = {quoted(keyword(f'{kind}/{name}'))}"


def quoted(text: str) -> str:
    """A value in a query."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
