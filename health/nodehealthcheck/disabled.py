"""The condition Disabled of a NodeHealthCheck, and the reason in words (semantics 1.3)."""

from dataclasses import dataclass

from health.check_sight import CheckSight
from health.health_check import InvalidCheckError
from health.nodehealthcheck.machine_health_check_conflict import CONFLICT


@dataclass(frozen=True)
class Disabled:
    """Whether the check is disabled, and why."""

    is_disabled: bool
    reason: str
    message: str

    @property
    def announcement(self) -> str:
        """What the Event of its beginning says (semantics 1.5)."""
        if self.reason == CONFLICT.reason:
            return self.message
        return f"Disabling NHC. Reason: {self.reason}, Message: {self.message}"


ENABLED = Disabled(
    is_disabled=False,
    reason="NodeHealthCheckEnabled",
    message="No issues found, NodeHealthCheck is enabled.",
)


def disabled(sight: CheckSight) -> Disabled:
    """What keeps a check as a whole from working, if anything does."""
    if isinstance(sight.check, InvalidCheckError):
        return Disabled(is_disabled=True, reason="InvalidSpec", message=str(sight.check))
    problem = sight.around.problem
    if problem is not None:
        return Disabled(is_disabled=True, reason=problem.reason, message=problem.message)
    return ENABLED
