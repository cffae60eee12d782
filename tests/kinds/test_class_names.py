"""Each public class has a name of its own, except where the folder of a kind gives the name its meaning."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.kinds.test_where_kinds_are_known import KINDS, ROOMS, ROOT


def public_classes(file: Path) -> Iterator[str]:
    for statement in ast.parse(file.read_text()).body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            yield statement.name


@cache
def folders_by_class() -> dict[str, list[str]]:
    """By class name, the folder of a kind where the class is defined, or "" for any other folder."""
    found = defaultdict(list)
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            folder = file.parent.name if file.parent.name in KINDS else ""
            for name in public_classes(file):
                found[name].append(folder)
    return found


def test_no_two_public_classes_of_one_folder_share_a_name() -> None:
    twice = {name for name, folders in folders_by_class().items() if len(set(folders)) < len(folders)}
    assert not twice


def test_name_from_the_folder_of_a_kind_stands_in_no_other_room() -> None:
    twice = {name for name, folders in folders_by_class().items() if "" in folders and len(folders) > 1}
    assert not twice
