"""ShortText: a text of bounded size, for texts of people and of API servers that Temporal keeps.

A longer text is cut where it comes in, and ends with "…" from then on. A text of a person is also on one
line, because it gets into Events, conditions and answers, where a newline would begin a forged line.
"""

import json
import re
from bisect import bisect_right
from typing import Annotated

from pydantic import AfterValidator

LONGEST_TEXT = 1024
"""Bytes of its JSON: Temporal refuses a payload of 2 MB, and a payload may hold hundreds of texts."""
CUT = "…"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
"""Control characters, line separators, and characters that change the direction of the text. Characters
that join or separate letters (U+200C, U+200D) stay, because some scripts need them."""
MOST_BYTES_OF_A_LETTER = len("\\u0000")


def cut_to_bytes(text: str, most: int) -> str:
    """`text` whose JSON has at most `most` bytes; what is cut ends with "…"."""
    if _json_bytes(text) <= most:
        return text
    room = most - _json_bytes(CUT) + _json_bytes("")
    lengths = range(1, min(len(text), most) + 1)
    return text[: bisect_right(lengths, room, key=lambda length: _json_bytes(text[:length]))] + CUT


def cut_to_length(text: str, most: int) -> str:
    """`text` with at most `most` characters; what is cut ends with "…"."""
    return text if len(text) <= most else text[: most - len(CUT)].rstrip() + CUT


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))


def short(text: str) -> str:
    """The text with at most LONGEST_TEXT bytes."""
    if len(text) * MOST_BYTES_OF_A_LETTER + len('""') <= LONGEST_TEXT:
        return text
    return cut_to_bytes(text, LONGEST_TEXT)


def on_one_line(text: str) -> str:
    """The text with a space in place of each run of control characters, line ends and bidi controls."""
    return _CONTROLS.sub(" ", text)


ShortText = Annotated[str, AfterValidator(short)]
PersonText = Annotated[str, AfterValidator(on_one_line), AfterValidator(short)]
