"""TargetReport: what a kind of check writes into the status of a target, if its users expect that.

A report states and does not ask: asking the owner of a target for something is an act. So reports are
written for all targets, healthy or not, and during any hold (ADR 22).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self

from health.cluster.cluster_context import CheckProblem, ClusterContext


@dataclass(frozen=True, kw_only=True)
class TargetFindings:
    """The facts for a report besides check and target."""

    now: datetime
    context: ClusterContext
    problem: CheckProblem | None = None
    """Why the check as a whole does not work; None for a target that has its request (CAPI B.2.5)."""
    request_error: str | None = None
    """Why the last creation of a request for it failed; None: it did not fail."""
    is_request_unreported: bool = False
    """Whether a request may have been refused before this detector became leader."""


class TargetReport(Protocol):
    """The report on one target now, which may be empty."""

    @property
    def is_unhealthy(self) -> bool:
        """True if the report says that the check of the target failed."""

    def merged_with(self, other: Any) -> Self:  # noqa: ANN401  of its own type
        """The report on a target that two checks select."""


@dataclass(frozen=True)
class TargetReports:
    """How a kind makes and writes reports, with the kind's own types of checks, targets and reports."""

    wanted: Callable[[Any, Any, TargetFindings], TargetReport]
    next_change: Callable[[Any, Any, TargetFindings], datetime | None]
    """When the report changes next by the passing of time alone."""
    is_stored: Callable[[Any, Any], bool]
    """Whether a target, as last seen, already has the content of a report."""
    patch: Callable[[Any, Mapping[str, Any], datetime], dict[str, Any]]
    """The merge patch that writes the report into an object; empty if nothing would change."""
