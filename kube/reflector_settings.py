"""The timing of a reflector: its settings, its watches, and the waits after failures."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from kube.errors import Expired, Forbidden, KubernetesError, NotFound, retry_after
from kube.listing import Paging
from objects.backoff import FULL_JITTER, Backoff

ENDING = timedelta(seconds=4)
"""Measured: kube-apiserver sends a bookmark one to three seconds before the requested end of a watch. A
version that was read this long before the end is in that bookmark."""
_GRACE = timedelta(seconds=3)
"""A watch that is still open this long after its requested end is dead."""
TO_PROVE = timedelta(seconds=12)
"""How long before the limit a proof is requested: the watch ends four seconds later, a second watch for a
missing proof lasts as long, and the rest is for a list."""
SHORTEST_LIMIT = timedelta(seconds=10)
"""With a lower limit bookmarks are too rare: a kind without changes would be stale again and again."""


@dataclass(frozen=True)
class Watching:
    """The durations of watches, and the interval of the consistent reads that prove their freshness."""

    proof_every: timedelta = timedelta(seconds=18)
    """How long the cache counts as proven before the next consistent read."""
    silence: timedelta = timedelta(seconds=40)
    """A watch without any data for this time is closed, even if it should last longer."""

    def lasting(self, until_read: timedelta) -> timedelta:
        """The duration to request for a watch, if a read is due `until_read` from now.

        Its last bookmark then comes right after the answer. In whole seconds, as the API requires.
        """
        longest = self.proof_every + ENDING
        seconds = min(max(until_read + ENDING, ENDING), longest).total_seconds()
        return timedelta(seconds=math.ceil(seconds))

    def silent_for(self, lasting: timedelta) -> timedelta:
        """How long a watch of this requested duration may be silent."""
        return min(self.silence, lasting + _GRACE)


@dataclass(frozen=True, kw_only=True)
class Waits:
    """The limits of the waits of a reflector."""

    first: timedelta = timedelta(seconds=2)
    """The limit of the first wait; it doubles with each further failure."""
    longest: timedelta = timedelta(seconds=30)
    """The largest limit of a wait."""
    forbidden: timedelta = timedelta(seconds=30)
    """The wait after repeated 403s: an administrator has to grant a role first."""
    starting: int = 3
    """The number of 403s in a row that may come from a starting server."""
    absent: timedelta = timedelta(seconds=15)
    """The longest wait between two checks whether a kind is served."""


class ReflectorBackoff:
    """Counts failures in a row, and returns the wait after each, which is never shorter than Retry-After.

    Waits are random between zero and a growing limit ("full jitter"), so that many clients that lost their
    watches at once do not return at once. A first limit of 2 s keeps the mean at one request a second while
    every request fails.

    A 410 after an outage means that the server is back: its clients have returned spread over the limit that
    the outage led to, and a second long wait would only leave them without data. The same holds for 403: a
    server that has just started knows no roles for a moment. So the first 410 or 403 begins the waits anew,
    and no later one does until a watch lasted: a server that alternates its errors is asked less and less
    often, too.
    """

    def __init__(self, waits: Callable[[], Waits]) -> None:
        self._waits = waits
        self.reset()

    def reset(self) -> None:
        """Forget the failures, after a while without any."""
        self._failures = 0
        self._forbidden = 0
        """The number of 403s in a row."""
        self._is_back = False
        """True after a 410 or 403."""

    def after(self, error: KubernetesError) -> timedelta:
        """The wait after this failure, with the server's Retry-After."""
        if isinstance(error, Expired | Forbidden) and not self._is_back:
            self._failures, self._is_back = 0, True
        self._forbidden = self._forbidden + 1 if isinstance(error, Forbidden) else 0
        waits = self._waits()
        longest = waits.absent if isinstance(error, NotFound) else waits.longest
        self._failures += 1
        backoff = Backoff(waits.first, longest, jitter=FULL_JITTER)
        drawn = backoff.wait(self._failures, random.random())  # noqa: S311  no secret
        if self._forbidden > waits.starting:
            return waits.forbidden
        return retry_after(error) + drawn


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
