"""Prints progress for a waiting person: whole sentences on stderr; stdout is for results."""

import sys
from contextlib import suppress
from datetime import timedelta


def print_progress(sentence: str, end: str = "\n") -> None:
    """Print one sentence and flush; a closed stderr is ignored."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{sentence}{end}")
        sys.stderr.flush()


def in_words(duration: timedelta) -> str:
    """`2 min 5 s`, or `40 s` if it is under a minute."""
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
