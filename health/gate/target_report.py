"""TargetReport: what is said of a target in its own status, by a kind of check whose users look there.

It is said, and asks for nothing: what is asked of whoever owns a target is an act. So it is written for all
targets, healthy or not, and whatever holds a remediation (ADR 22).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self

from health.gate.cluster_context import CheckProblem, ClusterContext


@dataclass(frozen=True)
class TargetFindings:
    """What is known beside check and target."""

    now: datetime
    context: ClusterContext
    problem: CheckProblem | None = None
    """Why the check as a whole does not work."""
    request_error: str = ""
    """Why no request for it could be created the last time."""
    is_request_untold: bool = False
    """Whether one may have been refused, and nobody told it since this detector leads."""


class TargetReport(Protocol):
    """What is to be said of one target now, maybe nothing."""

    @property
    def is_unhealthy(self) -> bool:
        """Whether that is that its check failed."""

    def merged_with(self, other: Any) -> Self:  # noqa: ANN401  of its own type
        """What is said of a target that two checks select."""


@dataclass(frozen=True)
class TargetReports:
    """How a kind makes and writes them; checks, targets and reports are of the types that the kind has."""

    wanted: Callable[[Any, Any, TargetFindings], TargetReport]
    next_change: Callable[[Any, Any, TargetFindings], datetime | None]
    """When the passing of time alone changes that next."""
    is_stored: Callable[[Any, Any], bool]
    """Whether a target, as it was seen, says what a report wants."""
    patch: Callable[[Any, Mapping[str, Any], datetime], dict[str, Any]]
    """The merge patch that makes an object, as the API server has it, say so; empty if it does."""
