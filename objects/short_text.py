"""ShortText: a text of bounded size, for texts of people and of API servers that Temporal keeps.

A longer text is cut where it comes in, and ends with "…" from then on.
"""

import json
from bisect import bisect_right
from typing import Annotated

from pydantic import AfterValidator

LONGEST_TEXT = 1024
"""Bytes of its JSON: Temporal refuses a payload of 2 MB, and a payload may hold hundreds of texts."""
CUT = "…"
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


ShortText = Annotated[str, AfterValidator(short)]
