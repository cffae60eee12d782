"""Source: the state of a reflector, regardless of its kind of object."""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Protocol

from health.gate.check_holds import NOT_YET, UnreadSource

LOOK_AGAIN_SECONDS = 0.05
THEY_NOT_YET = f"they were {NOT_YET}"
"""`NOT_YET` about many objects without a name."""


class Source(Protocol):
    """The state of a reflector, for readiness, logs and holds."""

    @property
    def name(self) -> str:
        """The name in logs, metrics and /readyz."""

    @property
    def synced(self) -> bool:
        """True once the first list was complete; it stays so, except for a kind that is served later."""

    @property
    def is_served(self) -> bool:
        """True if the API server serves the kind."""

    @property
    def problem(self) -> str:
        """The current problem of the reflector; "" without one."""

    @property
    def unproven_since(self) -> datetime | None:
        """The latest time at which it was proven true, or else its first error; None before that."""

    def age(self) -> timedelta | None:
        """Time since the last activity of its watch."""

    async def wait_synced(self) -> None:
        """Return when the first list is complete."""

    async def run(self) -> None:
        """Watch until cancelled; errors are retried, and reported in `problem`."""


def by_name(*sources: Source) -> dict[str, Source]:
    """The sources by the name that /readyz, metrics and the log use."""
    return {source.name: source for source in sources}


async def all_tried(sources: Iterable[Source]) -> None:
    """Return when each was read completely, is not served, or could not be read."""
    for source in sources:
        while not source.synced and not source.problem:  # noqa: ASYNC110  nothing signals a problem
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def unread(source: Source, limit: timedelta) -> UnreadSource | None:
    """The source, unless it was confirmed within `limit`."""
    age = source.age() if source.synced else None
    if age is not None and age <= limit:
        return None
    return UnreadSource(source.name, source.problem, source.unproven_since)


def first_unread(sources: Iterable[Source], limit: timedelta) -> UnreadSource | None:
    """The first source that was not confirmed within `limit`; None if all were."""
    found = (unread(source, limit) for source in sources)
    return next((source for source in found if source is not None), None)
