"""Formats times as Kubernetes does: RFC 3339 in UTC, whole seconds (Time) or microseconds (MicroTime)."""

from datetime import UTC, datetime

from objects.bounds import bounded_time


def stamp(time: datetime) -> str:
    """`time` in the format of Time: "2026-03-01T12:00:00Z"."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(moment: datetime) -> str:
    """An aware datetime in the format of MicroTime: "2025-01-02T03:04:05.000006Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def as_time(text: object) -> datetime | None:
    """The time in untrusted text, within bounds; None if it is not a time, or has no zone."""
    try:
        return bounded_time(datetime.fromisoformat(text)) if isinstance(text, str) else None
    except ValueError:
        return None
