"""CheckSight: everything that status and Events of one check are made from, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from health.health_check import HealthCheck, InvalidCheckError
from health.references import RequestReference
from health.threshold import Allowance
from health.verdict import Health, Verdict


@dataclass(frozen=True)
class RequestSight:
    """One request of the check."""

    reference: RequestReference
    created: datetime
    timed_out: datetime | None = None


@dataclass(frozen=True)
class TargetSight:
    """One target that is unhealthy or still has a request."""

    name: str
    uid: str
    """"" for a target that is gone."""
    verdict: Verdict
    requests: tuple[RequestSight, ...] = ()

    @property
    def is_published(self) -> bool:
        """Whether status lists it: a running timer alone is not published (semantics 2.1/17)."""
        return self.verdict.health is Health.EXPIRED or bool(self.requests)


@dataclass(frozen=True)
class CheckSight:
    """One check."""

    check: HealthCheck | InvalidCheckError
    uid: str
    allowance: Allowance | None
    """The numbers; None for a check that does not parse."""
    targets: Mapping[str, TargetSight] = field(default_factory=dict)
    refusal: str = ""
    """What the API server said where it does not let us read the requests that its templates ask for."""

    @property
    def is_blocked(self) -> bool:
        """Whether the threshold holds a target back now."""
        return self.allowance is not None and not self.allowance.allowed and bool(self.expired)

    @property
    def expired(self) -> tuple[TargetSight, ...]:
        """The targets whose deadline is over, by name."""
        return tuple(
            target for _, target in sorted(self.targets.items()) if target.verdict.health is Health.EXPIRED
        )
