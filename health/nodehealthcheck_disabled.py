"""The condition Disabled of a NodeHealthCheck, and the reason in words (semantics 1.3)."""

from dataclasses import dataclass

from health.check_sight import CheckSight
from health.health_check import InvalidCheckError
from health.observation import HoldReason


@dataclass(frozen=True)
class Disabled:
    """Whether the check is disabled, and why."""

    is_disabled: bool
    reason: str
    message: str


ENABLED = Disabled(
    is_disabled=False,
    reason="NodeHealthCheckEnabled",
    message="No issues found, NodeHealthCheck is enabled.",
)


def disabled(sight: CheckSight) -> Disabled:
    """What keeps a check as a whole from working, if anything does."""
    if isinstance(sight.check, InvalidCheckError):
        return Disabled(is_disabled=True, reason="InvalidSpec", message=str(sight.check))
    hold = sight.check.hold
    if hold is not None and hold.reason is HoldReason.NOT_SUPPORTED:
        return Disabled(is_disabled=True, reason=hold.reason, message=hold.message)
    if sight.refusal:
        message = f'Remediation template not found: "{sight.refusal}"'
        return Disabled(is_disabled=True, reason="RemediationTemplateNotFound", message=message)
    return ENABLED
