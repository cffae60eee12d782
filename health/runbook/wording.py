"""Wording: where words that are too long are cut. Pure."""

import json
from itertools import accumulate

CUT = "…"


def cut_to_bytes(text: str, most: int) -> str:
    """`text` whose JSON has at most `most` bytes; what is cut ends with "…"."""
    if _json_bytes(text) <= most:
        return text
    room = most - _json_bytes(CUT)
    used = accumulate(_json_bytes(letter) - _json_bytes("") for letter in text)
    return text[: sum(one <= room for one in used)] + CUT


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))
