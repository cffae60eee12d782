"""What is printed for people: plain words, on standard output, neither cut nor wrapped in a pipe.

A terminal obeys control characters, and anybody may write a reason: in an order, in a check, in a condition
of a node. It is shown on the terminal of somebody else, where a newline would begin a row that looks like
ours.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import CompositePayloadConverter, DataConverter, DefaultPayloadConverter

from health.model.moves import Phase

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
PIPE_WIDTH = 100_000
_STYLES: Mapping[str, str] = {
    Phase.HELD: "yellow",
    Phase.ACTING: "bold cyan",
    Phase.REMEDIATING: "cyan",
    Phase.CLEANING_UP: "blue",
    Phase.LEFT_ALONE: "magenta",
    Phase.ENDED: "dim",
}


def plain(text: str) -> str:
    """`text` on one line, with a blank for what a terminal would obey."""
    return _CONTROLS.sub(" ", text)


class _PlainJSON(PydanticJSONPlainPayloadConverter):
    """Reads plain words from whatever Temporal keeps."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:  # noqa: ANN401  as its base
        """The value of a payload, its texts plain."""
        words = json.dumps(_all_plain(json.loads(payload.data)))
        return super().from_payload(Payload(metadata=payload.metadata, data=words.encode()), type_hint)


class PlainPayloadConverter(CompositePayloadConverter):
    """Ours, but for its texts."""

    def __init__(self) -> None:
        """As that of the SDK for pydantic is made."""
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
        return [_all_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _all_plain(one) for name, one in value.items()}
    return value


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


def print_trimmed(what: RenderableType, console: Console) -> None:
    """Print `what`; no line of it ends with blanks."""
    with console.capture() as captured:
        console.print(what)
    typer.echo("\n".join(line.rstrip() for line in captured.get().removesuffix("\n").split("\n")))
