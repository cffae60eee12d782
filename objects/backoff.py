"""Backoff: the growing wait between attempts that fail in a row.

It is pure: the caller passes the random number, and a workflow takes it from its own source.
"""

import math
from dataclasses import dataclass
from datetime import timedelta

FULL_JITTER = (0.0, 1.0)
EQUAL_JITTER = (0.5, 1.0)


@dataclass(frozen=True)
class Backoff:
    """The limit of a wait starts with `first`, and each further failure multiplies it by `factor`."""

    first: timedelta
    longest: timedelta
    """The largest limit, also if `first` is larger."""
    factor: float = 2.0
    jitter: tuple[float, float] = (1.0, 1.0)
    """The smallest and the largest share of the limit that a wait takes."""

    def limit(self, failures: int) -> timedelta:
        """The wait after this many failures in a row, before jitter; zero without a failure."""
        if failures < 1:
            return timedelta()
        try:
            return min(self.first * math.pow(self.factor, failures - 1), self.longest)
        except OverflowError:
            return self.longest

    def wait(self, failures: int, draw: float) -> timedelta:
        """The wait after this many failures in a row; `draw` is a random number between 0 and 1."""
        return self.spread(self.limit(failures), draw)

    def spread(self, limit: timedelta, draw: float) -> timedelta:
        """The share of `limit` for the random number `draw`, between 0 and 1."""
        least, most = self.jitter
        return limit * (least + (most - least) * draw)
