"""Summaries: the text that the Temporal UI shows beside an activity or a timer, cut to the server's limit."""

import json
from itertools import accumulate

SUMMARY_BYTES = 350
"""The size of the JSON of a summary; the server allows 400 including its envelope."""
CUT = "…"


def in_summary(words: str) -> str:
    """`words`, cut to the limit of a summary."""
    return cut_to_bytes(words, SUMMARY_BYTES)


def cut_to_bytes(text: str, most: int) -> str:
    """`text`, cut so that its JSON has at most `most` bytes; a cut text ends with "…"."""
    if _json_bytes(text) <= most:
        return text
    room = most - _json_bytes(CUT)
    used = accumulate(_json_bytes(letter) - _json_bytes("") for letter in text)
    return text[: sum(one <= room for one in used)] + CUT


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass"))
