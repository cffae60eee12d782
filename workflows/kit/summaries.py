"""Summaries: the text that the Temporal UI shows beside an activity or a timer, cut to the server's limit."""

from objects.short_text import cut_to_bytes

SUMMARY_BYTES = 350
"""The size of the JSON of a summary; the server allows 400 including its envelope."""


def in_summary(words: str) -> str:
    """`words`, cut to the limit of a summary."""
    return cut_to_bytes(words, SUMMARY_BYTES)
