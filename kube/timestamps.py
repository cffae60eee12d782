"""Times as Kubernetes writes them: RFC 3339 in UTC, with whole seconds (Time) or microseconds (MicroTime)."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Return an aware datetime as `Time`: "2025-01-02T03:04:05Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(moment: datetime) -> str:
    """Return an aware datetime as `MicroTime`: "2025-01-02T03:04:05.000006Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
