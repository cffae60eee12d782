"""Watch one kind from a resourceVersion on, until the server or a fault ends it."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kube.transport import Query, Transport

ENDING = timedelta(seconds=4)
"""Measured: kube-apiserver sends a bookmark three to one seconds before the end that a watch asked for. So
what is read so long before it is in that bookmark."""
_GRACE = timedelta(seconds=3)
"""A watch that has not ended so long after the end that it asked for is dead."""


@dataclass(frozen=True)
class Watching:
    """How long watches last, and when what proves that they are fresh is read."""

    proof_every: timedelta = timedelta(seconds=18)
    """So long after a moment as of which the cache was proven true, the next consistent read is sent."""
    silence: timedelta = timedelta(seconds=40)
    """A watch that says nothing for so long is given up, also if it asked to last longer."""

    def lasting(self, until_read: timedelta) -> timedelta:
        """Return for how long a watch is asked to last when a read is due `until_read` from now.

        Its last bookmark comes right after the answer. In whole seconds, as the API server has it.
        """
        longest = self.proof_every + ENDING
        seconds = min(max(until_read + ENDING, ENDING), longest).total_seconds()
        return timedelta(seconds=math.ceil(seconds))

    def silent_for(self, lasting: timedelta) -> timedelta:
        """Return how long a watch that is asked to last so long may say nothing."""
        return min(self.silence, lasting + _GRACE)


def in_words(full_name: str, namespace: str, selectors: Query, cluster: str) -> str:
    """Return what is watched, as people are told of it."""
    within = f" in {namespace}" if namespace else ""
    selected = f" with {' and '.join(selector for _, selector in selectors)}" if selectors else ""
    of = f" of {cluster}" if cluster else ""
    return f"{full_name}{of}{within}{selected}"


@asynccontextmanager
async def watch(  # noqa: PLR0913, PLR0917  a watch has these parts
    transport: Transport,
    path: str,
    selectors: Query,
    resource_version: str,
    lasting: timedelta,
    silence: timedelta,
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Open the watch and yield its lines; raises as `Transport.stream` does.

    The server is asked to end it after `lasting`, a whole number of seconds.
    """
    query = _query(selectors, resource_version, lasting)
    async with transport.stream(path, query, silence=silence) as lines:
        yield lines


def _query(selectors: Query, resource_version: str, lasting: timedelta) -> Query:
    return [
        ("watch", "1"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", str(round(lasting.total_seconds()))),
        *selectors,
    ]
