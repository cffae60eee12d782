"""HealthyDelay: how long the requests of a target that is healthy again are kept.

Rule (NHC 2.6, rule 19): no delay, or zero: they go at once; a negative one: they stay until a
person confirms that the target is healthy; else they go when the target has been healthy for so long. It
counts from the latest recovery: a target that fails again meanwhile starts over. A change of the delay takes
effect on those that wait. The confirmation overrides any delay.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from health.model.request_snapshot import RequestSnapshot
from objects.durations import in_words


@dataclass(frozen=True)
class Delay:
    """What the check says, and whether a person has confirmed that the target is healthy."""

    seconds: float
    is_confirmed: bool = False

    @property
    def keeps_requests(self) -> bool:
        """Whether the requests of a healthy target are kept at all."""
        return self.seconds != 0 and not self.is_confirmed

    @property
    def is_for_good(self) -> bool:
        """Whether only a person ends it."""
        return self.keeps_requests and self.seconds < 0

    def is_running(self, request: RequestSnapshot, now: datetime) -> bool:
        """Whether `request` is to be kept at `now`."""
        if not self.keeps_requests:
            return False
        return self.is_for_good or request.healthy_since is None or now < self._end(request.healthy_since)

    def remaining(self, request: RequestSnapshot, now: datetime) -> timedelta | None:
        """How long `request` is still kept; None: until a person confirms."""
        if self.is_for_good:
            return None
        since = request.healthy_since or now
        return max(timedelta(), self._end(since) - now)

    def _end(self, since: datetime) -> datetime:
        return since + timedelta(seconds=self.seconds)

    def __str__(self) -> str:
        if self.is_for_good:
            return "healthyDelay is negative: kept until a person confirms that it is healthy"
        return f"healthyDelay of {in_words(timedelta(seconds=self.seconds))}"
