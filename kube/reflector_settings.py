"""The timing of a reflector."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from kube.listing import Paging
from kube.reflector_backoff import Waits
from kube.watching import Watching

TO_PROVE = timedelta(seconds=12)
"""How long before the limit a proof is requested: the watch ends four seconds later, a second watch for a
missing proof lasts as long, and the rest is for a list."""
SHORTEST_LIMIT = timedelta(seconds=10)
"""With a lower limit bookmarks are too rare: a kind without changes would be stale again and again."""


@dataclass(frozen=True, kw_only=True)
class ReflectorSettings:
    """The timing of a reflector. The defaults are for production; tests shorten them."""

    paging: Paging = field(default_factory=Paging)
    watching: Watching = field(default_factory=Watching)
    waits: Waits = field(default_factory=Waits)
    relist: tuple[timedelta, timedelta] = (timedelta(minutes=30), timedelta(minutes=60))
    """A list is compared with the cache again after a random time between these."""
    steady: timedelta = timedelta(seconds=10)
    """A watch that lasted this long, or half of its requested duration, ends a row of failures; a shorter
    one is itself a failure."""

    def proving_life_within(self, limit: timedelta) -> Self:
        """The settings with proofs requested early enough for `limit`.

        This covers kinds that are watched, and kinds that are not served. A limit below `SHORTEST_LIMIT` is
        too short for it.
        """
        every = min(self.watching.proof_every, max(limit / 6, limit - TO_PROVE))
        return replace(
            self,
            watching=replace(self.watching, proof_every=every),
            waits=replace(self.waits, absent=min(self.waits.absent, every)),
        )

    def draw_relist(self) -> timedelta:
        """A random time until the next list."""
        shortest, longest = self.relist
        return shortest + (longest - shortest) * random.random()  # noqa: S311  no secret


PATIENT = ReflectorSettings()
CurrentSettings = Callable[[], ReflectorSettings]
"""Returns the present settings: the interval of proofs may change while a kind is watched."""


def patient() -> ReflectorSettings:
    return PATIENT
