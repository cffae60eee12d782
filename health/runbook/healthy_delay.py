"""HealthyDelay: how long the requests of a recovered target are kept, and what is done meanwhile.

Rule (NHC 2.6, rule 19): without a delay, or with zero, the requests are deleted at once; with a negative
delay they stay until a person confirms that the target is healthy; otherwise they are deleted when the
target has been healthy for that long. The time counts from the latest recovery: a target that fails again
starts over. A changed delay applies at once. The confirmation overrides any delay. Meanwhile the requests
are annotated with the time of recovery, requests of another operator are adopted, old ones are flagged, and
the Lease is renewed.

A recovery that must be proven (`health.runbook.proven_recovery`) keeps the requests in the same way, for the
longer of both times and without an annotation. Without requests the incident waits for the target.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from health.model.moves import (
    NextTransition,
)
from health.model.observation import Observation
from health.model.request_snapshot import RequestSnapshot
from objects.durations import in_words

CONFIRMED = NextTransition(what="when a person confirms that it is healthy")


@dataclass(frozen=True)
class Delay:
    """The delay of the check, and whether a person confirmed the target as healthy."""

    seconds: float
    is_confirmed: bool = False

    @classmethod
    def of(cls, seen: Observation) -> Self:
        """The delay of the check at this observation."""
        return cls(seen.healthy_delay_seconds, seen.is_confirmed)

    @property
    def keeps_requests(self) -> bool:
        """True if the requests of a healthy target are kept at all."""
        return self.seconds != 0 and not self.is_confirmed

    @property
    def is_for_good(self) -> bool:
        """True if only a person ends the delay."""
        return self.keeps_requests and self.seconds < 0

    def is_running(self, request: RequestSnapshot, now: datetime) -> bool:
        """True if `request` is to be kept at `now`."""
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
