"""Buckets: one histogram, whose bounds are written as the Go client writes them: le="30", not le="30.0"."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Buckets:
    """Counts of what was observed, up to each bound."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count `value` in the first bucket that holds it; a bound is inclusive."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def cumulative(self) -> list[tuple[str, float]]:
        """Each bound, and how many values were not above it."""
        return list(zip((*map(str, self._bounds), "+Inf"), accumulate(self._counts), strict=True))
