"""How patient a reflector is."""

import random
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from kube.backoff import Waits
from kube.listing import Paging
from kube.watching import Watching


@dataclass(frozen=True)
class ReflectorSettings:
    """How patient a reflector is. The defaults are for production; tests shorten them."""

    paging: Paging = field(default_factory=Paging)
    watching: Watching = field(default_factory=Watching)
    waits: Waits = field(default_factory=Waits)
    relist: tuple[timedelta, timedelta] = (timedelta(minutes=30), timedelta(minutes=60))
    """A list is compared with the picture again after a random time between these."""
    steady: timedelta = timedelta(seconds=10)
    """A watch that lasted so long ends a row of failures; a shorter one is a failure itself."""

    def proving_life_within(self, limit: timedelta) -> Self:
        """Return the same, with each sign of life asked for a third of `limit` before it is missed.

        That is of a watch that says nothing, and of a kind that is not served. A watch that was merely silent
        has lasted: where all are quiet, none of their ends is a failure.
        """
        silence = min(self.watching.silence, limit * 2 / 3)
        return replace(
            self,
            watching=replace(self.watching, silence=silence),
            waits=replace(self.waits, absent=min(self.waits.absent, silence)),
            steady=min(self.steady, silence / 2),
        )

    def draw_relist(self) -> timedelta:
        """Return after which time the next list is due."""
        shortest, longest = self.relist
        return shortest + (longest - shortest) * random.random()  # noqa: S311  no secret


PATIENT = ReflectorSettings()
