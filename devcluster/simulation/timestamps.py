"""Times as Kubernetes writes them: UTC with a Z, whole seconds (Time) or microseconds (MicroTime)."""

from datetime import UTC, datetime


def to_seconds(moment: datetime) -> str:
    """Write an aware datetime as a metav1.Time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_microseconds(moment: datetime) -> str:
    """Write an aware datetime as a metav1.MicroTime."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
