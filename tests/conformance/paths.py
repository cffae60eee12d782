"""Finds names of missing files and folders in pages: in code spans and in links.

A name may leave out the folders before it, `gate/admission.py`; a file without any folder that stands in the
row of a table that begins with folders is in one of these.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tests.conformance.markers import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs")
WRITTEN_BY_TESTS = "docs/conformance.md"
MADE_BY_READERS = {"DIR/dev.json", "dist/", "my-cluster/"}
_FILE = r"[\w./-]+\.(?:json|md|py|toml|txt|yaml)"
_FOLDER = r"[\w./-]+/"
_SPAN = re.compile(rf"`({_FILE}|{_FOLDER})`")
_LINK = re.compile(r"\]\((?!\w+:)([^)#]+)(?:#[^)]*)?\)")
_ROW = re.compile(r"\| ((?:`\w+/`(?:, )?)+) \|")


def pages(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Return path and text of all pages but the one that is written from the tests."""
    for place in PAGES:
        for page in sorted((root / place).rglob("*.md")) or [root / place]:
            path = page.relative_to(root).as_posix()
            if path != WRITTEN_BY_TESTS:
                yield path, page.read_text()


def tree(root: Path = ROOT) -> frozenset[str]:
    """Return all files and folders, but for what begins with a dot; a folder ends with a slash."""
    tops = [entry for entry in root.iterdir() if not entry.name.startswith(".")]
    found = [*tops, *(below for top in tops if top.is_dir() for below in top.rglob("*"))]
    return frozenset(path.relative_to(root).as_posix() + "/" * path.is_dir() for path in found)


def missing(page: str, text: str, there: frozenset[str]) -> list[str]:
    """Return the missing files that a page names, each as `line: name`."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        row = _ROW.match(line)
        rooms = re.findall(_FOLDER, row[1]) if row else []
        named = [name for name in _SPAN.findall(line) if not _is_there(name, rooms, there)]
        linked = [link for link in _LINK.findall(line) if not _is_linked(page, link, there)]
        found += [f"{number}: {name}" for name in (*named, *linked)]
    return found


def all_missing() -> list[str]:
    """Return the missing files that any page names, each as `path:line: name`."""
    there = tree()
    return [f"{page}:{path}" for page, text in pages() for path in missing(page, text, there)]


def _is_there(name: str, rooms: list[str], there: frozenset[str]) -> bool:
    if name in MADE_BY_READERS:
        return True
    is_alone = "/" not in name
    wanted = [f"{room}{name}" for room in rooms] if rooms and is_alone else [name]
    return any(f"/{path}".endswith(f"/{one}") for one in wanted for path in there)


def _is_linked(page: str, link: str, there: frozenset[str]) -> bool:
    target = PurePosixPath("/", page).parent
    for part in PurePosixPath(link).parts:
        target = target.parent if part == ".." else target / part
    path = target.as_posix().removeprefix("/")
    return path in there or f"{path}/" in there
