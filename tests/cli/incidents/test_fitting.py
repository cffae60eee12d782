"""A page that is higher than the terminal says how much is missing."""

import io

from rich.console import Console, Group
from rich.text import Text

from cli.incidents.watching import Fitting


def drawn(rows: int, height: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=40, height=height, force_terminal=True, color_system=None)
    page = Group(*(Text(f"row {row}") for row in range(rows)))
    console.print(Group(Text("headline"), Fitting(page)))
    return out.getvalue().splitlines()


def test_page_that_fits_is_drawn_whole() -> None:
    assert drawn(rows=4, height=5) == ["headline", "row 0", "row 1", "row 2", "row 3"]


def test_of_one_that_does_not_the_last_line_says_how_many_more_there_are() -> None:
    assert drawn(rows=10, height=5) == ["headline", "row 0", "row 1", "row 2", "7 more"]


def test_on_a_terminal_of_one_line_nothing_breaks() -> None:
    assert drawn(rows=2, height=1) == ["headline", "2 more"]
