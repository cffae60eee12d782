"""How long is waited after a failure: longer each time, at random, and as long as we are told to.

The waits are drawn between nothing and a growing limit ("full jitter"), so that many clients that lost
their watches at the same moment do not come back at the same moment. The first limit of 2 s keeps the
mean at one request a second when every answer is a failure.

410 after an outage is a server that is there again: its clients came back spread over the limit that the
outage had led to, and waiting as long once more would keep them blind for nothing. So it is with 403: a
server that has just started knows no roles for a moment. Only one that lasts is waited for long.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from kube.errors import Expired, Forbidden, KubernetesError, NotFound, retry_after


def draw(first: timedelta, longest: timedelta, failures: int) -> timedelta:
    """Return a wait below `first`, doubled with each failure in a row, and below `longest`."""
    doublings: int = 2 ** min(failures, 30)  # 2**30 seconds are beyond any `longest`
    return min(first * doublings, longest) * random.random()  # noqa: S311  no secret


@dataclass(frozen=True)
class Waits:
    """Limits of the waits of a reflector."""

    first: timedelta = timedelta(seconds=2)
    """The limit of the first wait; it doubles with every further failure."""
    longest: timedelta = timedelta(seconds=30)
    """No drawn wait is longer."""
    forbidden: timedelta = timedelta(seconds=30)
    """The wait after 403 again and again: somebody has to grant a role first."""
    starting: int = 3
    """How many answers 403 in a row may be those of a server that starts."""
    absent: timedelta = timedelta(seconds=15)
    """The longest wait between two looks whether a kind is served by now."""


class Backoff:
    """Counts failures in a row."""

    def __init__(self, waits: Callable[[], Waits]) -> None:
        self._waits = waits
        self._failures = 0
        self._last: type[KubernetesError] | None = None

    def reset(self) -> None:
        """Begin anew: things have been well for a while."""
        self._failures = 0
        self._last = None

    def after(self, error: KubernetesError) -> timedelta:
        """Return how long to wait after this failure."""
        if isinstance(error, Expired | Forbidden) and type(error) is not self._last:
            self._failures = 0
        self._last = type(error)
        waits = self._waits()
        longest = waits.absent if isinstance(error, NotFound) else waits.longest
        drawn = draw(waits.first, longest, self._failures)
        self._failures += 1
        if isinstance(error, Forbidden) and self._failures > waits.starting:
            return waits.forbidden
        return retry_after(error) + drawn
