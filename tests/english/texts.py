"""The texts that readers of the repository read: docstrings and comments of Python files, and pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from devcluster.manifests import ROOT
from tests.conformance.paths import WRITTEN_BY_TESTS

EXEMPTION = re.compile(r"^(?:noqa(?::[A-Z0-9, ]+)?|type: ignore\[[^\]]*\]|pragma: [a-z ]+)\s*#?\s*")
"""The start of a comment for a tool, before its reason."""
FEWEST_WORDS = 7
"""A docstring with fewer words repeats the name, or says too little."""


class Text(NamedTuple):
    """A text, and the number of its first line in its file."""

    line: int
    text: str


def files(root: Path = ROOT) -> Iterator[Path]:
    """Python files and pages, except the page that the tests write."""
    for place in sorted(root.iterdir()):
        if place.suffix in {".md", ".py"}:
            yield place
        elif place.is_dir() and not place.name.startswith("."):
            found = (file for ending in ("*.md", "*.py") for file in place.rglob(ending))
            yield from (one for one in sorted(found) if one != root / WRITTEN_BY_TESTS)


def texts(file: Path) -> Iterator[Text]:
    """All texts of a file."""
    content = file.read_text()
    if file.suffix == ".md":
        yield Text(1, content)
        return
    yield from docstrings(content)
    yield from comments(content)


def docstrings(source: str) -> Iterator[Text]:
    """The docstrings of modules, classes, functions and attributes."""
    for statement in statements(source):
        match statement:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield Text(statement.lineno, text)


def short_docstrings(source: str) -> int:
    """The number of docstrings of classes and functions with too few words."""
    found = (
        ast.get_docstring(statement)
        for statement in statements(source)
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return sum(one is not None and len(one.split()) < FEWEST_WORDS for one in found)


@lru_cache(maxsize=1)
def statements(source: str) -> tuple[ast.stmt, ...]:
    """All statements of a file, which is asked for its docstrings and then for its short ones."""
    return tuple(_statements(ast.parse(source)))


def _statements(parent: ast.AST) -> Iterator[ast.stmt]:
    """All statements, without a look at expressions, which are most of the nodes."""
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(parent, part, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from _statements(child)


def comments(source: str) -> Iterator[Text]:
    """The comments; those of adjacent lines without code are one text."""
    if "#" not in source:
        return
    block: list[Text] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        text = EXEMPTION.sub("", token.string.lstrip("# "))
        is_alone = not token.line[:column].strip()
        if not is_alone or (block and line != block[-1].line + 1):
            yield from _joined(block)
            block = []
        if is_alone:
            block.append(Text(line, text))
        else:
            yield Text(line, text)
    yield from _joined(block)


def _joined(block: list[Text]) -> Iterator[Text]:
    if block:
        yield Text(block[0].line, "\n".join(one.text for one in block))
