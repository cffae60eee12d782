"""Wording: which words of an incident come first or last, and where words that are too long are cut. Pure."""

import json
from itertools import accumulate

CUT = "…"


def told_first(words: str, what: str) -> str:
    """`words`, parts with "; " between them, with the part `what` of them in front."""
    before, after = _around(words, what)
    return _joined(what, before, after) if before or after else words


def told_last(words: str, what: str) -> str:
    """The same with that part at the end."""
    before, after = _around(words, what)
    return _joined(before, after, what) if before or after else words


def _around(words: str, what: str) -> tuple[str, str]:
    """What stands before and after that part; nothing where it is none."""
    if not what or what not in words:
        return "", ""
    before, _, after = words.partition(what)
    return before.removesuffix("; "), after.removeprefix("; ")


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def cut_to_bytes(text: str, most: int) -> str:
    """`text` whose JSON has at most `most` bytes; what is cut ends with "…"."""
    if _json_bytes(text) <= most:
        return text
    room = most - _json_bytes(CUT)
    used = accumulate(_json_bytes(letter) - _json_bytes("") for letter in text)
    return text[: sum(one <= room for one in used)] + CUT


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))
