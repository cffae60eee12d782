"""Links to a heading lead to one: those between pages, and those that code and manifests print."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.manifests import ROOT
from tests.conformance.paths import pages
from tests.pages.page import modules

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)")
PRINTED = re.compile(r"docs/([\w-]+\.md)(?:#([a-z0-9-]+))?")


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page, and the anchors that it names itself."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {*map(slug, headings), *re.findall(r'<a id="([^"]+)"', text)}


def slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def links() -> Iterator[tuple[str, Path, str]]:
    """Where each link stands, the page that it leads to, and the anchor on it."""
    for path, text in pages():
        for page, anchor in LINK.findall(text):
            yield path, (ROOT / path).parent / page if page else ROOT / path, anchor


def printed() -> Iterator[tuple[str, Path, str]]:
    """The same of code and manifests, which name a page by its path from the root."""
    for file in (*modules(), *(ROOT / "deploy").rglob("*.yaml")):
        for page, anchor in PRINTED.findall(file.read_text()):
            yield file.relative_to(ROOT).as_posix(), ROOT / "docs" / page, anchor


def test_each_link_to_a_heading_leads_to_one() -> None:
    broken = [
        f"{there}: {page.name}#{anchor}"
        for there, page, anchor in (*links(), *printed())
        if not page.is_file() or (anchor and page.suffix == ".md" and anchor not in anchors(page))
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("abort, hold, resume", "abort-hold-resume"),
        ("Who may write: `paramedic upgrade`", "who-may-write-paramedic-upgrade"),
    ],
)
def test_anchor_is_the_heading_without_punctuation(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor
