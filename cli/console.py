"""Console: what people read goes to standard output; into a pipe nothing is cut or wrapped."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from health.model.moves import Phase

PIPE_WIDTH = 100_000
_STYLES: Mapping[str, str] = {
    Phase.HELD: "yellow",
    Phase.ACTING: "bold cyan",
    Phase.REMEDIATING: "cyan",
    Phase.CLEANING_UP: "blue",
    Phase.LEFT_ALONE: "magenta",
    Phase.ENDED: "dim",
}


def console(*, is_cut: bool = True) -> Console:
    """Standard output; lines that are not cut to the terminal are wrapped by it."""
    found = Console(highlight=False, emoji=False, markup=False)
    if not (found.is_terminal and is_cut):
        found.width = PIPE_WIDTH
    return found


def phase_text(phase: Phase | str | None, *, is_held: bool = False) -> Text:
    """A phase for people; a person's hold shows beside a phase that goes on under it."""
    if phase is None:
        return Text("unknown", style="bold red")
    held = ", held" if is_held and phase is not Phase.HELD else ""
    return Text(f"{phase}{held}", style=_STYLES.get(phase, ""))
