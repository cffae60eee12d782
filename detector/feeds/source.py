"""Source: the state of a reflector, regardless of its kind of object."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

LOOK_AGAIN_SECONDS = 0.05
NOT_YET = "not read completely yet"
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


def first_unread(sources: Iterable[Source], limit: timedelta) -> str:
    """The problem of the first source that was not confirmed within `limit`; "" if all were."""
    for source in sources:
        if not source.synced:
            return f"{source.name}: {source.problem or NOT_YET}"
        age = source.age()
        if age is None or age > limit:
            return f"{source.name}: {source.problem or 'without any activity for too long'}"
    return ""
