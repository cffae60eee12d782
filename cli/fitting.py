"""Fitting: as much of a picture as a terminal has lines for, and how many more there are."""

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

HEADLINES = 1
"""Lines that stand above it."""


class Fitting:
    """A picture below a headline."""

    def __init__(self, picture: RenderableType) -> None:
        """`picture` is drawn as it is where it fits."""
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines; the last one that fits says how many do not."""
        lines = console.render_lines(self._picture, options.update(height=None), pad=False)
        room = console.height - HEADLINES
        shown = lines if len(lines) <= room else lines[: max(room - 1, 0)]
        for line in shown:
            yield from line
            yield Segment.line()
        if len(shown) < len(lines):
            yield Text(f"{len(lines) - len(shown)} more", style="dim")
