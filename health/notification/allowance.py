"""RequestAllowance: how many requests a receiver of notifications may get now, as a token bucket. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

_MINUTE = timedelta(minutes=1)
_NEARLY_ONE = 1 - 1e-9
"""Sums of fractions stay a little under the whole."""


@dataclass(frozen=True)
class RequestAllowance:
    """The requests that are left at one moment of any monotonic clock."""

    left: float
    at: timedelta

    @classmethod
    def full(cls, most_per_minute: int, now: timedelta) -> Self:
        return cls(most_per_minute, now)

    def refilled(self, most_per_minute: int, now: timedelta) -> Self:
        """The same at `now`; a whole minute refills it, and it never has more than a minute's worth."""
        gained = most_per_minute * max(0.0, (now - self.at) / _MINUTE)
        return type(self)(min(float(most_per_minute), self.left + gained), now)

    def spent(self) -> Self:
        return type(self)(max(0.0, self.left - 1), self.at)

    def wait(self, most_per_minute: int) -> timedelta:
        """The time until a request is allowed."""
        return max(0.0, _NEARLY_ONE - self.left) * _MINUTE / most_per_minute

    def in_next_request(self, waiting: int) -> int:
        """How many waiting notifications the next request has; the last request that is left has all."""
        is_last = self.left < 1 + _NEARLY_ONE
        return waiting if is_last else min(1, waiting)
