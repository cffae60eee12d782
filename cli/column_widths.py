"""ColumnWidths: which columns of the table of incidents a terminal has room for, and how wide they are. Pure.

Rule: a number or a phase that is cut says nothing, so only names and details give way, down to what still
tells one from another. Where that does not suffice, columns are left out: first AGE, which changes no
decision, then DETAILS, which `paramedic show` tells, then CHECK and NEXT. What is left over goes to the names
first, and what remains to the details.
"""

from collections.abc import Iterator, Mapping

GAP = 2
"""Blanks between two columns."""
_LEAST = {"CLUSTER": 8, "TARGET": 16, "CHECK": 10, "DETAILS": 24}
_LEFT_OUT = ("AGE", "DETAILS", "CHECK", "NEXT")
_GROW = ("TARGET", "CHECK", "CLUSTER", "DETAILS")


def column_widths(natural: Mapping[str, int], room: int) -> dict[str, int]:
    """The columns that are shown, each with its width; `natural` is what cuts nothing."""
    for shown in _choices(natural):
        widths = {name: min(natural[name], _LEAST.get(name, natural[name])) for name in shown}
        spare = room - sum(widths.values()) - GAP * (len(widths) - 1)
        if spare >= 0:
            break
    for name in (name for name in _GROW if name in widths):
        more = min(max(0, spare), natural[name] - widths[name])
        widths[name], spare = widths[name] + more, spare - more
    return widths


def _choices(natural: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """All columns, then fewer and fewer."""
    for count in range(len(_LEFT_OUT) + 1):
        yield tuple(name for name in natural if name not in _LEFT_OUT[:count])
