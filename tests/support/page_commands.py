"""The commands that pages name: lines of their code blocks, and code inside their sentences."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from devcluster.manifests import ROOT

PROGRAMS = ("helm", "kubectl", "oc", "paramedic", "temporal")
_BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(rf"(?<!`)`((?:{'|'.join(PROGRAMS)}) [^`]+)`")
_COMMAND = re.compile(rf"(?:{'|'.join(PROGRAMS)}) \S")
_COMMENT = re.compile(r"(?:^|\s)#\s.*$")
_OPTIONAL = re.compile(r" \[([^]]*)\]")
_END = re.compile(r"\s(?:\\?\||>{1,2}|&)(?:\s|$)")
"""A pipe, a redirection or `&` ends the words of a command in a line of a shell."""


class PageCommand(NamedTuple):
    """A command, and the page that names it."""

    page: str
    text: str

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def words(self) -> list[str]:
        """Its words, without what a shell does with its output."""
        return shlex.split(_END.split(_COMMENT.sub("", self.text), maxsplit=1)[0])

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def pages() -> Iterator[Path]:
    """All pages for users, without the decisions."""
    yield ROOT / "README.md"
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "decisions")


def page_commands(program: str) -> list[PageCommand]:
    """Each command of that program, once for each page."""
    return [
        PageCommand(str(page.relative_to(ROOT)), text)
        for page in pages()
        for text in dict.fromkeys(_texts(page.read_text()))
        if text.split()[0] == program
    ]


def _texts(page: str) -> Iterator[str]:
    for block in _BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            text = line.strip().removeprefix("$ ")
            if _COMMAND.match(text):
                yield text
    for text in _INLINE.findall(_BLOCK.sub("", page)):
        yield from _alternatives(text)


def _alternatives(text: str) -> Iterator[str]:
    """`pause|unpause CHECK` as two commands, and an option in brackets as given."""
    plain = _OPTIONAL.sub(r" \1", " ".join(text.split()))
    found = re.search(r"\w+(?:\|\w+)+", plain)
    if found is None:
        yield plain
        return
    for word in found[0].split("|"):
        yield plain.replace(found[0], word)
