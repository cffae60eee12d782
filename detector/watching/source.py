"""Source: what a reflector says of itself, whatever it reads."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

LOOK_AGAIN_SECONDS = 0.05
NOT_YET = "not read completely yet"
THEY_NOT_YET = f"they were {NOT_YET}"
"""The same of many that have no name."""


class Source(Protocol):
    """What a reflector says of itself."""

    @property
    def name(self) -> str:
        """What it watches, for people."""

    @property
    def synced(self) -> bool:
        """Whether it is complete: once it was, it stays so, but for a kind that comes."""

    @property
    def is_served(self) -> bool:
        """Whether the API server serves the kind."""

    @property
    def problem(self) -> str:
        """What is wrong with it, "" if nothing is."""

    def age(self) -> timedelta | None:
        """Time since the last activity of its watch."""

    async def wait_synced(self) -> None:
        """Return when it is complete."""

    async def run(self) -> None:
        """Watch until cancelled."""


def by_name(*sources: Source) -> dict[str, Source]:
    """The sources as /readyz and metrics name them, which is as the log does."""
    return {source.name: source for source in sources}


async def all_tried(sources: Iterable[Source]) -> None:
    """Return when each was read completely, is not served, or could not be read."""
    for source in sources:
        while not source.synced and not source.problem:  # noqa: ASYNC110  nothing signals a problem
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def first_unread(sources: Iterable[Source], limit: timedelta) -> str:
    """What is wrong with the first that was not proven true within `limit`; "" if all were."""
    for source in sources:
        if not source.synced:
            return f"{source.name}: {source.problem or NOT_YET}"
        age = source.age()
        if age is None or age > limit:
            return f"{source.name}: {source.problem or 'without any activity for too long'}"
    return ""
