"""Progress for a person who waits: whole sentences on stderr, so that stdout stays free for answers."""

import sys
from contextlib import suppress
from datetime import timedelta


def say(sentence: str) -> None:
    """Print one sentence at once. Whoever stops listening does not stop what is going on."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()


def in_words(duration: timedelta) -> str:
    """`2 min 5 s`, or `40 s`."""
    minutes, seconds = divmod(int(duration.total_seconds()), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
