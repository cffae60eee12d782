"""Pages of docs/, by their parts and tables, and the strings of the code that they are compared with."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from devcluster.manifests import ROOT

OURS = ("activities", "cli", "detector", "health", "kube", "runtime", "worker", "workflows")
_CODE = re.compile(r"`([^`]+)`")


def part(page: str, heading: str) -> str:
    """The text below a heading, up to the next heading of the same or a higher level."""
    text = "\n" + (ROOT / "docs" / page).read_text()
    level = len(heading) - len(heading.lstrip("#"))
    _, _, below = text.partition(f"\n{heading}\n")
    assert below, f"docs/{page} has no heading {heading!r}"
    return re.split(rf"^#{{1,{level}}} ", below, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of its tables, but for the heads."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and lines[number + 1].startswith("|---")
        if line.startswith("|") and not line.startswith("|---") and not is_head:
            yield [cell.strip() for cell in line.strip("|").split("|")]


def named(cell: str) -> list[str]:
    return _CODE.findall(cell)


def modules(*packages: str) -> Iterator[Path]:
    """The files of these packages, by default of all that work in a cluster, and of the command."""
    for package in packages or OURS:
        yield from sorted((ROOT / package).rglob("*.py"))


@cache
def strings_of(file: Path) -> frozenset[str]:
    """The strings of a file, which is parsed once."""
    return frozenset(strings(ast.parse(file.read_text())))


def strings(tree: ast.AST) -> Iterator[str]:
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value
