"""Times as annotations and statuses of Kubernetes say them: RFC 3339 in UTC, whole seconds."""

from datetime import UTC, datetime


def stamp(time: datetime) -> str:
    """`time` as Kubernetes and the reference write it: "2026-03-01T12:00:00Z"."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
