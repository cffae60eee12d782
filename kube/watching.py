"""Watch one kind from a resourceVersion on, until the server or a fault ends it."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kube.transport import Query, Transport


@dataclass(frozen=True)
class Watching:
    """How long a watch lasts."""

    shortest: timedelta = timedelta(minutes=4)
    """A watch is asked to end at a random time between `shortest` and `longest`, so that the watches of
    many clients spread over the API servers."""
    longest: timedelta = timedelta(minutes=6)
    silence: timedelta = timedelta(seconds=40)
    """A watch that says nothing for so long is given up and opened again. Measured: kube-apiserver sends
    bookmarks to a quiet watch every 60 s, and the first one after up to 120 s; a sight that must never be
    older than 60 s cannot wait for them, but an accepted watch proves as much."""


def in_words(full_name: str, namespace: str, label_selector: str) -> str:
    """Return what is watched, as people are told of it."""
    within = f" in {namespace}" if namespace else ""
    selected = f" with {label_selector}" if label_selector else ""
    return f"{full_name}{within}{selected}"


@asynccontextmanager
async def watch(
    transport: Transport, path: str, label_selector: str, resource_version: str, watching: Watching
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Open the watch and yield its lines; raises as `Transport.stream` does."""
    query = _query(label_selector, resource_version, watching)
    async with transport.stream(path, query, silence=watching.silence) as lines:
        yield lines


def _query(label_selector: str, resource_version: str, watching: Watching) -> Query:
    spread = (watching.longest - watching.shortest) * random.random()  # noqa: S311  no secret
    lasting = max(1, round((watching.shortest + spread).total_seconds()))
    query = [
        ("watch", "1"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", str(lasting)),
        ("labelSelector", label_selector),
    ]
    return [(key, value) for key, value in query if value]
