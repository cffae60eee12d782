"""Which test proves which rule: the markers `@pytest.mark.rule(...)`, read from the source of the tests.

Reading needs no servers and no import. A marker counts on a test function, or in `pytestmark` for every test
of its file; one that stands anywhere else would prove nothing unseen, so it is an error.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class MarkerError(Exception):
    """A marker that cannot be read, with its place."""


@dataclass(frozen=True)
class Proof:
    """One test, and the rules that it proves."""

    test: str
    """`path::name`, the path from the root of the repository."""
    rules: tuple[str, ...]


def all_proofs(root: Path = ROOT) -> list[Proof]:
    """Return the marked tests of the repository by file and place; raises MarkerError."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return [proof for file in files for proof in proofs(file.relative_to(root).as_posix(), file.read_text())]


def proofs(path: str, source: str) -> list[Proof]:
    """Return the marked tests of one file; raises MarkerError."""
    tree = ast.parse(source)
    of_the_file = [marker for node in tree.body if _is_pytestmark(node) for marker in _markers(node)]
    tests = [node for node in tree.body if isinstance(node, AnyFunction) and node.name.startswith("test_")]
    of_tests = {test: [mark for place in test.decorator_list for mark in _markers(place)] for test in tests}
    known = [*of_the_file, *(marker for markers in of_tests.values() for marker in markers)]
    _refuse_others(path, tree, known)
    found = [
        Proof(f"{path}::{test.name}", _rules(path, [*of_the_file, *markers]))
        for test, markers in of_tests.items()
    ]
    return [proof for proof in found if proof.rules]


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]


def _markers(place: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(place):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            yield node


def _refuse_others(path: str, tree: ast.Module, known: list[ast.Call]) -> None:
    for marker in _markers(tree):
        if marker not in known:
            raise MarkerError(
                f"{path}:{marker.lineno}: a rule is marked on a test function or in pytestmark, nowhere else"
            )


def _rules(path: str, markers: list[ast.Call]) -> tuple[str, ...]:
    ids = [_text(path, argument) for marker in markers for argument in marker.args]
    return tuple(dict.fromkeys(ids))


def _text(path: str, argument: ast.expr) -> str:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    raise MarkerError(f"{path}:{argument.lineno}: the id of a rule is written out as a string")
