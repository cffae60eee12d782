"""Packages that a process needs for an option only: without the option it does not import them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.structure.test_construction import PACKAGES, ROOT

OPTIONAL = ("opentelemetry", "temporalio.contrib.opentelemetry")


def imported(file: Path) -> Iterator[str]:
    """The modules that the file imports as soon as it is imported."""
    for statement in ast.parse(file.read_text()).body:
        match statement:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module


def is_optional(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in OPTIONAL)


def test_no_module_imports_opentelemetry_as_soon_as_it_is_imported() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    found = {str(file.relative_to(ROOT)) for file in files if any(map(is_optional, imported(file)))}
    assert found == set()
