"""Summaries: what the Temporal UI shows beside an activity or a timer, as short as the server takes it."""

import json
from itertools import accumulate

SUMMARY_BYTES = 350
"""Of the JSON of a summary; the server takes 400, with what is written around it."""
CUT = "…"


def in_summary(words: str) -> str:
    """`words` as short as a summary must be."""
    return cut_to_bytes(words, SUMMARY_BYTES)


def cut_to_bytes(text: str, most: int) -> str:
    """`text` whose JSON has at most `most` bytes; what is cut ends with "…"."""
    if _json_bytes(text) <= most:
        return text
    room = most - _json_bytes(CUT)
    used = accumulate(_json_bytes(letter) - _json_bytes("") for letter in text)
    return text[: sum(one <= room for one in used)] + CUT


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))
