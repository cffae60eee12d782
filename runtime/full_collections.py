"""Keeps full garbage collections short, because the event loop stops during one.

A full collection examines every container in memory. With 5,000 open incidents this took 0.35 s of processor
time, again and again, and found nothing. So an object that survived a full collection is frozen: the next one
does not examine it. Reference counting still frees frozen objects; only cycles among them stay. For these, a
full collection examines all objects again once an hour, unless they are too many.
"""

import gc
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

ALL_AGAIN_AFTER = timedelta(hours=1)
MOST_EXAMINED = 300_000
"""Frozen objects that one collection may examine again: about 130 ms."""
FULL = 2
"""The generation of a full collection."""


class FullCollections:
    """A callback of `gc` that freezes what a full collection leaves."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_due = clock()

    def __call__(self, phase: str, information: Mapping[str, int]) -> None:
        if information["generation"] != FULL:
            return
        if phase == "stop":
            gc.freeze()
        elif self._is_due():
            self._last_due = self._clock()
            if gc.get_freeze_count() <= MOST_EXAMINED:  # to count them walks through them
                gc.unfreeze()

    def _is_due(self) -> bool:
        return self._clock() - self._last_due >= ALL_AGAIN_AFTER.total_seconds()


def keep_full_collections_short() -> None:
    """Freeze the objects that survive full collections, for the rest of the process.

    Call it before the event loop starts: the first collection examines all modules, which takes 0.1 s.
    """
    gc.callbacks.append(FullCollections())
    gc.collect()
