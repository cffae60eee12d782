"""Watches one kind from a resourceVersion on, until the server or a fault ends the watch."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kube.transport import Query, Transport

ENDING = timedelta(seconds=4)
"""Measured: kube-apiserver sends a bookmark one to three seconds before the requested end of a watch. A
version that was read this long before the end is in that bookmark."""
_GRACE = timedelta(seconds=3)
"""A watch that is still open this long after its requested end is dead."""


@dataclass(frozen=True)
class Watching:
    """The durations of watches, and the interval of the consistent reads that prove their freshness."""

    proof_every: timedelta = timedelta(seconds=18)
    """The time from the moment as of which the cache is proven true to the next consistent read."""
    silence: timedelta = timedelta(seconds=40)
    """A watch without any data for this time is closed, even if it should last longer."""

    def lasting(self, until_read: timedelta) -> timedelta:
        """The duration to request for a watch, if a read is due `until_read` from now.

        Its last bookmark then comes right after the answer. In whole seconds, as the API requires.
        """
        longest = self.proof_every + ENDING
        seconds = min(max(until_read + ENDING, ENDING), longest).total_seconds()
        return timedelta(seconds=math.ceil(seconds))

    def silent_for(self, lasting: timedelta) -> timedelta:
        """How long a watch of this requested duration may be silent."""
        return min(self.silence, lasting + _GRACE)


def in_words(full_name: str, namespace: str, selectors: Query, cluster: str) -> str:
    """The watched kind in words, for messages."""
    within = f" in {namespace}" if namespace else ""
    selected = f" with {' and '.join(selector for _, selector in selectors)}" if selectors else ""
    of = f" of {cluster}" if cluster else ""
    return f"{full_name}{of}{within}{selected}"


@asynccontextmanager
async def watch(  # noqa: PLR0913  a watch has these parts
    transport: Transport,
    path: str,
    selectors: Query,
    *,
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
