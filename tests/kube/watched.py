"""A reflector of widgets under test, with everything that it told."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from kube.discovery import KindName
from kube.listing import Paging
from kube.record import Change, Key
from kube.reflector import Reflector, ReflectorSettings
from kube.reflector_settings import CurrentSettings, Waits, Watching
from kube.resource import Resource
from kube.transport import Transport
from objects.group_kind import ServedKind
from tests.kube.objects import WIDGETS, Widget

BRIEF = timedelta(milliseconds=10)

# Production's rules, with waits that a test can wait for; a watch of any length counts as steady.
IMPATIENT = ReflectorSettings(
    paging=Paging(limit=2, timeout=timedelta(seconds=2)),
    watching=Watching(silence=timedelta(seconds=20)),
    waits=Waits(first=BRIEF, longest=BRIEF, forbidden=BRIEF, absent=BRIEF),
    steady=timedelta(0),
)


def with_silence(silence: timedelta) -> ReflectorSettings:
    return dataclasses.replace(IMPATIENT, watching=Watching(proof_every=10 * silence, silence=silence))


class Told:
    """The reports of a reflector to its owner."""

    def __init__(self) -> None:
        self.changes: list[Change[Widget]] = []
        self.undecodable: list[tuple[str, str]] = []
        self.resolved: list[tuple[str, int]] = []
        """Those that decode again or are gone, and how many changes were told before."""

    def change(self, change: Change[Widget]) -> None:
        self.changes.append(change)

    def on_undecodable(self, key: Key, error: str) -> None:
        if error:
            self.undecodable.append((key.name, error))
        else:
            self.resolved.append((key.name, len(self.changes)))

    def brief(self) -> list[tuple[str, str]]:
        return [(change.kind.value, change.key.name) for change in self.changes]


@asynccontextmanager
async def reflecting(
    transport: Transport,
    settings: ReflectorSettings | CurrentSettings = IMPATIENT,
    label_selector: str | None = None,
    *,
    resource: Resource | KindName | ServedKind = WIDGETS,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[tuple[Reflector[Widget], Told]]:
    told = Told()
    reflector = Reflector(
        transport,
        resource,
        Widget,
        label_selector=label_selector,
        notify=told.change,
        on_undecodable=told.on_undecodable,
        clock=clock,
        settings=settings if callable(settings) else lambda: settings,
    )
    running = asyncio.create_task(reflector.run())
    try:
        yield reflector, told
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
