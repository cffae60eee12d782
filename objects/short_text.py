"""Texts of a bounded size: those that Temporal keeps or shows, and ids and names that end with a hash. Pure.

A text of people or of an API server is cut where it comes in, and ends with "…" from then on. A text of a
person is also on one line, because it gets into Events, conditions and answers, where a newline would begin a
forged line. The Temporal UI cuts long lines, and shows Markdown.
"""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from pydantic import AfterValidator

LONGEST_TEXT = 1024
"""Bytes of its JSON: Temporal refuses a payload of 2 MB, and a payload may hold hundreds of texts."""
CUT = "…"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
"""Control characters, line separators, and characters that change the direction of the text. Characters
that join or separate letters (U+200C, U+200D) stay, because some scripts need them."""
MOST_BYTES_OF_A_LETTER = len("\\u0000")
LONGEST_LINE = 60
"""Characters: the Temporal UI shows a summary of this length beside the shortest bar of its timeline."""
SHORTEST_NAME = 8
LONGEST_ID = 255
"""The longest id or Keyword that Temporal stores, in bytes.

Temporal refuses a longer id where `limit.maxIDLength` says so, and its SQL stores fail for longer ids and
Keywords (PostgreSQL, MySQL); the development server accepts them.
"""
_HASH_DIGITS = 16
_MARK_OF_CUT_ID = "~"
"""No name in Kubernetes contains it, so a cut id never equals a full one."""
_ESCAPED = str.maketrans({letter: f"\\{letter}" for letter in "\\`*[]<>"})
"""The letters that begin formatting, links and HTML."""


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


@dataclass(frozen=True)
class Brief:
    """A text with at most one name, which readers find elsewhere in full."""

    before: str | None = None
    name: str | None = None
    after: str | None = None

    def within(self, most: int = LONGEST_LINE) -> str:
        """One line of at most `most` characters: first the name is cut, then the end."""
        before, name, after = (
            " ".join((part or "").split()) for part in (self.before, self.name, self.after)
        )
        parts = [part for part in (before, name, after) if part]
        room = most - len(" ".join(parts)) + len(name)
        if name:
            parts[1 if before else 0] = cut_to_length(name, max(room, SHORTEST_NAME))
        return cut_to_length(" ".join(parts), most)


def escaped(text: str) -> str:
    """The text on one line, without effect on the Markdown around it."""
    return " ".join(text.translate(_ESCAPED).split())


def listed(*lines: tuple[str, str | None]) -> str:
    """A list of labels and texts, without those whose text is None or empty."""
    return "\n".join(f"- **{label}:** {escaped(text)}" for label, text in lines if text)


def cut_with_hash(text: str, most: int, mark: str = "-") -> str:
    """`text` in at most `most` bytes; a longer text is cut, and ends with `mark` and its hash."""
    encoded = text.encode(errors="surrogatepass")
    if len(encoded) <= most:
        return text
    beginning = encoded[: most - _HASH_DIGITS - len(mark)].decode(errors="ignore").rstrip(".-")
    return f"{beginning}{mark}{sha256(encoded).hexdigest()[:_HASH_DIGITS]}"


def bounded_id(text: str, ending: str = "") -> str:
    """`text` with `ending`; if that is too long, `text` is cut and ends with its hash."""
    return cut_with_hash(text, LONGEST_ID - len(ending.encode()), _MARK_OF_CUT_ID) + ending


def is_cut(bounded: str) -> bool:
    """True if `bounded_id` has cut this id."""
    return _MARK_OF_CUT_ID in bounded
