"""Prints plain text for people on standard output; in a pipe, lines are neither cut nor wrapped.

A terminal obeys control characters, and reasons come from untrusted places: an order, a check, a condition of
a node. Characters without a width, or that change the text direction, can disguise a name. A newline could
begin a forged row.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import typer
from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import CompositePayloadConverter, DataConverter, DefaultPayloadConverter

from health.model.moves import Phase
from runtime.problems import one_sentence

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
_HIDDEN = (
    r"\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""C1 controls, line separators, characters without a width, and characters that change the text direction
(`Cf`)."""
_CONTROLS = re.compile(rf"[\x00-\x1f{_HIDDEN}]+")
_NEVER_OURS = re.compile(f"[{_HIDDEN}]+")
PIPE_WIDTH = 100_000
MOST_NAMED = 10
GAP = 2
"""Spaces between two columns."""
_STYLES: Mapping[str, str] = {
    Phase.HELD: "yellow",
    Phase.ACTING: "bold cyan",
    Phase.REMEDIATING: "cyan",
    Phase.CLEANING_UP: "blue",
    Phase.LEFT_ALONE: "magenta",
    Phase.ENDED: "dim",
}


def plain(text: str) -> str:
    """`text` on one line, with spaces in place of control and hidden characters."""
    return _CONTROLS.sub(" ", text)


def without_hidden(text: str) -> str:
    """`text` with spaces in place of characters that we never print; newlines, tabs and styles stay."""
    return _NEVER_OURS.sub(" ", text)


def error_sentence(error: BaseException) -> str:
    """The error as one sentence, without control characters, as its text may come from anywhere."""
    return plain(one_sentence(error))


class _PlainJSON(PydanticJSONPlainPayloadConverter):
    """Decodes JSON payloads and removes control characters from their strings."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:  # noqa: ANN401  as its base
        words = json.dumps(_all_plain(json.loads(payload.data)))
        return super().from_payload(Payload(metadata=payload.metadata, data=words.encode()), type_hint)


class PlainPayloadConverter(CompositePayloadConverter):
    """The payload converter of this SDK, with strings made plain."""

    def __init__(self) -> None:
        json_ = _PlainJSON()
        super().__init__(
            *(
                json_ if converter.encoding == json_.encoding else converter
                for converter in DefaultPayloadConverter.default_encoding_payload_converters
            )
        )


PLAIN_DATA = DataConverter(payload_converter_class=PlainPayloadConverter)


def _all_plain(value: Json) -> Json:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_all_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _all_plain(item) for name, item in value.items()}
    return value


def console(*, is_cut: bool = True) -> Console:
    """Standard output.

    With `is_cut`, lines are cut to the terminal's width, otherwise the terminal wraps them.
    """
    found = Console(highlight=False, emoji=False, markup=False)
    if not (found.is_terminal and is_cut):
        found.width = PIPE_WIDTH
    return found


def listed(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first names, and the number of the others; the JSON of a command has all."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return f"{', '.join(known[:most])}{more}"


def phase_text(phase: Phase | str | None, *, is_held: bool = False) -> Text:
    """A phase for people; a person's hold is shown beside a phase that continues under it."""
    if phase is None:
        return Text("unknown", style="bold red")
    held = ", held" if is_held and phase is not Phase.HELD else ""
    return Text(f"{phase}{held}", style=_STYLES.get(phase, ""))


Line = tuple[str | Text, str | Text | None]
"""A label and a value; None: there is none, and the line is left out."""


def labelled(label: str, values: Iterable[str]) -> Iterator[Line]:
    """A line for each value; only the first one has the label."""
    for number, value in enumerate(values):
        yield ("" if number else label), value


def labelled_lines(lines: Iterable[Line], label_style: str = "bold") -> Table:
    """A table with a label and a value in each row; spaces before a value indent all of its lines."""
    table = Table.grid(padding=(0, GAP))
    table.add_column(style=label_style, no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in lines:
        if isinstance(value, str):
            text = value.lstrip()
            table.add_row(label, Padding(Text(text), (0, 0, 0, len(value) - len(text))))
        elif value is not None:
            table.add_row(label, value)
    return table


def table_of(columns: Iterable[str], no_wrap: Collection[str] = ()) -> Table:
    """An empty table with these columns, whose cells are wrapped at any character."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in no_wrap)
    return table


def print_json(view: BaseModel) -> None:
    typer.echo(view.model_dump_json(indent=2))


def print_trimmed(renderable: RenderableType, console: Console) -> None:
    with console.capture() as captured:
        console.print(renderable)
    typer.echo("\n".join(line.rstrip() for line in captured.get().removesuffix("\n").split("\n")))
