"""Pages are short enough to read: words of a page, and characters of a table cell."""

import re

from tests.conformance.markers import ROOT
from tests.conformance.paths import WRITTEN_BY_TESTS, pages

LONGEST_PAGE = 3_000
"""In words."""
LONGEST_CELL = 120
"""In characters of Markdown, links included."""
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def cells(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [cell.strip() for line in lines for cell in BETWEEN_CELLS.split(line)]


def test_no_page_is_longer_than_a_reader_has_time_for() -> None:
    words = {path: len(text.split()) for path, text in pages()}
    words[WRITTEN_BY_TESTS] = len((ROOT / WRITTEN_BY_TESTS).read_text().split())
    assert [f"{path}: {count}" for path, count in words.items() if count > LONGEST_PAGE] == []


def test_no_table_cell_is_longer_than_two_lines() -> None:
    long = [f"{path}: {cell}" for path, text in pages() for cell in cells(text) if len(cell) > LONGEST_CELL]
    assert long == [], "move the explanation below the table"


def test_escaped_bar_does_not_end_a_cell() -> None:
    assert cells("| `a\\|b` | c |\nno table | here\n") == ["", "`a\\|b`", "c", ""]
