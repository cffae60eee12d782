"""Reads the lock file of the image, as `uv pip compile` writes it: what is installed, and what needs it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PROJECT = "paramedic"
_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")
_ASKED = re.compile(r" +# +(?:via +)?(?P<name>[a-z0-9-]+)(?: \(pyproject\.toml\))?$")


@dataclass(frozen=True)
class Locked:
    """One dependency, and those that need it."""

    name: str
    version: str
    needed_by: frozenset[str]


def read(text: str) -> tuple[Locked, ...]:
    """All that is locked, in the order of the file."""
    return tuple(_entries(text))


def _entries(text: str) -> Iterator[Locked]:
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text):
        if pinned := _PINNED.match(entry):
            asking = frozenset(found["name"] for line in entry.splitlines() if (found := _ASKED.match(line)))
            yield Locked(pinned["name"], pinned["version"], asking - {"via"})
