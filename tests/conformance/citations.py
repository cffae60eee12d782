"""Finds citations of unknown rules and decisions in code and pages.

A citation is `rule 14`, `rules 4, 5 and 44`, `NHC 2.1/13`, `MHC A.2.3`, `CAPI B.2.3` or `ADR 15`. A section
stands for its rows. An id without its prefix is refused, because a search would not find it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.markers import ROOT
from tests.conformance.register import BY_ID, SECTIONS

# Patterns begin with a literal, not with \b: so the repository is read in a tenth of a second, not in one.
_GAP = r"[\s#]+"
_NEXT = rf"(?:,|,?{_GAP}(?:and|or|to)){_GAP}"
_ROWS = r"(?:/\w[\w-]*)*"


_NUMBER = rf"(?:[A-Z]\.)?\d+(?:\.\d+)*{_ROWS}"


def _citation(prefix: str) -> re.Pattern[str]:
    return re.compile(rf"(?i:{prefix[0]}){prefix[1:]}s?{_GAP}({_NUMBER}(?:{_NEXT}{_NUMBER})*)")


_PREFIXES = {section.prefix.split()[0] for section in SECTIONS} | {"ADR"}
_CITATIONS = {prefix: _citation(prefix) for prefix in sorted(_PREFIXES)}
_NOWHERE = (
    re.compile(r"emantic[s]\b"),
    re.compile(rf"ecisions?{_GAP}\d+"),
    re.compile(r"docs/decisions/\d+"),
    re.compile(r"[A-Z]\.[1-9](?:\.\d+)?\b"),
    re.compile(r"[12]\.\d/\d+\b"),
)


def standing(rules: Iterable[str], pages: Iterable[Path]) -> frozenset[str]:
    """Return all that may be cited: rules, their sections, and the pages of docs/decisions by number."""
    sections = {rule[: end.start()] for rule in rules for end in re.finditer(r"[ /.]|$", rule)}
    return frozenset(sections | {f"ADR {int(page.name[:4])}" for page in pages})


def complaints(text: str, stands: frozenset[str]) -> list[str]:
    """Return the unknown citations of a text, each as `line: citation`."""
    found: list[tuple[int, str]] = []
    for prefix, citation in _CITATIONS.items():
        for match in citation.finditer(text):
            ids = (f"{prefix} {number}" for number in re.split(_NEXT, match[1]))
            found += [(match.start(), one) for one in ids if one not in stands]
        text = citation.sub(lambda match: re.sub(r"\S", " ", match[0]), text)
    found += [(match.start(), match[0]) for nowhere in _NOWHERE for match in nowhere.finditer(text)]
    return [f"{len(text[: place + 1].splitlines())}: {cited}" for place, cited in sorted(found)]


_CITING = ("*.py", "*.md", "*.yaml")
_SETTINGS = (".importlinter", "Makefile", "pyproject.toml")


def texts(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Return path and text of code, pages, manifests and settings, but for our tests, which cite wrongly."""
    folders = [folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    files = {file for folder in folders for ending in _CITING for file in folder.rglob(ending)}
    for file in sorted(files | set(root.glob("*.md")) | {root / name for name in _SETTINGS}):
        path = file.relative_to(root).as_posix()
        if not path.startswith("tests/conformance/test_"):
            yield path, file.read_text()


def all_complaints() -> list[str]:
    """Return the unknown citations of the whole repository, each as `path:line: citation`."""
    stands = standing(BY_ID, (ROOT / "docs" / "decisions").glob("*.md"))
    return [f"{path}:{complaint}" for path, text in texts() for complaint in complaints(text, stands)]
