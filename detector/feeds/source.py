"""Sources: reflectors of any kind of object, and which of them were not confirmed for too long.

Every feed says with one value why its objects must not be used: `UnreadSource`, the name of the source, its
error, and since when it has not been read. None: they may be used.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeAlias

from health.gate.check_holds import UnreadSource
from kube.reflector import Reflector

LOOK_AGAIN_SECONDS = 0.05

Source: TypeAlias = Reflector[Any]
"""The state of a reflector, for readiness, logs and holds."""


def by_name(*sources: Source) -> dict[str, Source]:
    """The sources by the name that /readyz, metrics and the log use."""
    return {source.name: source for source in sources}


async def all_tried(sources: Iterable[Source]) -> None:
    """Return when each was read completely, is not served, or could not be read."""
    for source in sources:
        while not source.synced and source.problem is None:  # noqa: ASYNC110  nothing signals a problem
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
