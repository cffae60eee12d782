"""The tables of series of docs/metrics.md."""

import re

from tests.pages.page import named, part, rows

PAGE = "metrics.md"
NAME = re.compile(r"(?:paramedic|nodehealthcheck|mapi_machinehealthcheck)_[a-z_]+")


def documented() -> dict[str, set[str]]:
    """The labels of each series of the page."""
    tables = [*rows(part(PAGE, "## Detector")), *rows(part(PAGE, "## Worker")), *rows(part(PAGE, "## Both"))]
    found: dict[str, set[str]] = {}
    for first, *others in tables:
        for name in named(first):
            if NAME.fullmatch(name):
                found[name] = found[[*found][-1]] if others[1] == "the same" else _labels_in(others[1])
    return found


def _labels_in(cell: str) -> set[str]:
    """But not the values that stand in brackets, nor what else the cell explains them by."""
    return {label for label in named(re.sub(r"\(.*?\)", "", cell)) if label.isidentifier()}


def histograms() -> set[str]:
    """The names of the series that are histograms."""
    return {
        name
        for heading in ("## Detector", "## Worker")
        for row in rows(part(PAGE, heading))
        for name in named(row[0])
        if NAME.fullmatch(name) and row[1].startswith("histogram")
    }
