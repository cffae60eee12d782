"""How patient a reflector is."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from kube.backoff import Waits
from kube.listing import Paging
from kube.watching import Watching

TO_PROVE = timedelta(seconds=12)
"""How long before the limit a proof is asked for: the watch ends four seconds later, one that is opened to
prove what that did not lasts as long, and what is left is for a list."""
SHORTEST_LIMIT = timedelta(seconds=10)
"""Under this, bookmarks do not come often enough: a quiet kind is stale again and again."""


@dataclass(frozen=True)
class ReflectorSettings:
    """How patient a reflector is. The defaults are for production; tests shorten them."""

    paging: Paging = field(default_factory=Paging)
    watching: Watching = field(default_factory=Watching)
    waits: Waits = field(default_factory=Waits)
    relist: tuple[timedelta, timedelta] = (timedelta(minutes=30), timedelta(minutes=60))
    """A list is compared with the cache again after a random time between these."""
    steady: timedelta = timedelta(seconds=10)
    """A watch that lasted so long, or half of what it asked for, ends a row of failures; a shorter one is a
    failure itself."""

    def proving_life_within(self, limit: timedelta) -> Self:
        """Return the same, with each proof of life asked for long enough before it is missed.

        That is of a kind that is watched, and of one that is not served. A limit below `SHORTEST_LIMIT` is
        too short for that.
        """
        every = min(self.watching.proof_every, max(limit / 6, limit - TO_PROVE))
        return replace(
            self,
            watching=replace(self.watching, proof_every=every),
            waits=replace(self.waits, absent=min(self.waits.absent, every)),
        )

    def draw_relist(self) -> timedelta:
        """Return after which time the next list is due."""
        shortest, longest = self.relist
        return shortest + (longest - shortest) * random.random()  # noqa: S311  no secret


PATIENT = ReflectorSettings()
CurrentSettings = Callable[[], ReflectorSettings]
"""Answers with the settings as they are now: how often proof is needed may change while a kind is watched."""


def patient() -> ReflectorSettings:
    """Answer with the defaults."""
    return PATIENT
