"""Links of pages lead to a file and to a heading; so do the pages that code, manifests and settings name."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from devcluster.manifests import ROOT

SAMPLES = ("tests/conformance/test_paths.py", "tests/pages/test_links.py")
"""Tests with pages that do not exist."""
ENDINGS = ("*.go", "*.json", "*.md", "*.py", "*.tpl", "*.txt", "*.yaml")
NO_ENDING = ("Dockerfile", "Makefile", "pyproject.toml", ".importlinter")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
NAMED = re.compile(
    r"(?<![\w./-])(docs/[\w./-]+\.md|(?:README|CONTRIBUTING|CHANGELOG|SECURITY)\.md)(?:#([\w-]+))?"
)
"""A page by its path from the root, as messages and comments name it."""


class Link(NamedTuple):
    """Where a link stands, the file or folder that it leads to, and the anchor there or ""."""

    place: str
    target: Path
    anchor: str


def files(root: Path = ROOT) -> Iterator[Path]:
    """All files of the repository that may name a page, except recorded histories."""
    tops = [entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    for ending in (*ENDINGS, *NO_ENDING):
        yield from root.glob(ending)
        for top in tops:
            yield from (file for file in top.rglob(ending) if file.parent != root / "tests" / "histories")


def links(file: Path, text: str, root: Path = ROOT) -> Iterator[Link]:
    """The links of a page, or the pages that another file names."""
    place = file.relative_to(root).as_posix()
    if file.suffix != ".md":
        yield from (Link(place, root / page, anchor) for page, anchor in NAMED.findall(text))
        return
    for path, anchor in LINK.findall(FENCED.sub("", text)):
        yield Link(place, file.parent / path if path else file, anchor)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub derives from the headings of a page, and those that the page names itself."""
    text = FENCED.sub("", page.read_text())
    times = Counter(map(slug, re.findall(r"^#+ (.*)$", text, re.MULTILINE)))
    again = {f"{heading}-{number}" for heading, count in times.items() for number in range(1, count)}
    return frozenset({*times, *again, *re.findall(r'<a id="([^"]+)"', text)})


def slug(heading: str) -> str:
    """The words of a heading without punctuation; of a link its text."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w -]", "", words.strip().lower()).replace(" ", "-")


def is_broken(link: Link) -> bool:
    """A file that is no page has no anchors to check."""
    if not link.target.exists():
        return True
    return bool(link.anchor) and link.target.suffix == ".md" and link.anchor not in anchors(link.target)


def test_each_link_leads_to_a_file_and_to_a_heading() -> None:
    every = [link for file in files() for link in links(file, file.read_text())]
    broken = [
        f"{link.place}: {link.target.resolve().relative_to(ROOT.resolve())}#{link.anchor}"
        for link in every
        if link.place not in SAMPLES and is_broken(link)
    ]
    assert broken == []
    places = {link.place for link in every}
    assert {"README.md", "deploy/chart/paramedic/README.md", "cli/doctor/temporal.py"} <= places


@pytest.fixture
def page(tmp_path: Path) -> Path:
    made = tmp_path / "docs" / "page.md"
    made.parent.mkdir()
    made.write_text('# Page\n\n## A `b`, c\n\n## A `b`, c\n\n```\n# no heading\n```\n<a id="d"></a>\n')
    return made


@pytest.mark.parametrize(
    "link",
    ["](page.md)", "](../docs)", "](page.md#a-b-c-1)", "](#d)", "](https://a.test/b#c)", "```\n](x)\n```"],
)
def test_link_that_leads_somewhere_is_no_finding(page: Path, link: str) -> None:
    assert not [one for one in links(page, link, page.parents[1]) if is_broken(one)]


@pytest.mark.parametrize(
    "link", ["](gone.md)", "](../gone/)", "](page.md#no-heading)", "](#e)", "](gone.md#a)"]
)
def test_link_that_leads_nowhere_is_found(page: Path, link: str) -> None:
    assert [one for one in links(page, link, page.parents[1]) if is_broken(one)]


@pytest.mark.parametrize(("name", "is_there"), [("docs/page.md#page", True), ("docs/page.md#e", False)])
def test_page_that_code_names_is_checked_as_a_link_is(page: Path, name: str, is_there: bool) -> None:  # noqa: FBT001  a column of a table
    root = page.parents[1]
    (link,) = links(root / "cli" / "names.py", f'"see {name}."', root)
    assert is_broken(link) is not is_there


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("abort, hold, resume", "abort-hold-resume"),
        ("Who may write: `paramedic upgrade`", "who-may-write-paramedic-upgrade"),
        ("What [the check](checks.md) says", "what-the-check-says"),
    ],
)
def test_anchor_is_the_heading_without_punctuation(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor
