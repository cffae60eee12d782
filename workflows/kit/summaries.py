"""Summaries: the text that the Temporal UI shows beside an activity or a timer, in one short line."""

from objects.brief import Brief
from objects.short_text import cut_to_bytes

SUMMARY_BYTES = 350
"""The size of the JSON of a summary; the server allows 400 including its envelope."""


def in_summary(words: str | Brief) -> str:
    """One line within the limits of the UI (`LONGEST_LINE` characters) and of the server."""
    brief = words if isinstance(words, Brief) else Brief(words)
    return cut_to_bytes(brief.within(), SUMMARY_BYTES)
