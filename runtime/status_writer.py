"""StatusWriter: writes statements into the ParamedicStatus, and emits Events about changes.

Only the names of emitted Events are remembered: each write is decided by the stored object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from kube.client import Client
from kube.errors import AlreadyExists, Conflict, KubernetesError, none_if_absent, retry_after
from kube.events import Events, event_name
from kube.resource import Object
from objects.event import InvolvedObject
from runtime.guard import Guard
from runtime.paramedic_status import (
    NAME,
    PARAMEDIC_STATUSES,
    Installation,
    ParamedicStatusDocument,
    Statement,
    amended,
    events,
)
from runtime.problems import Problems, one_sentence

LOOK_EVERY_SECONDS = 10.0
LOOK_WITHIN_SECONDS = 25.0
"""Longer than a call to Temporal, which may take 10 s."""
NAMED = "ParamedicStatus"


class StatusWriter:
    """Writes the ParamedicStatus in one namespace for one process."""

    def __init__(
        self, client: Client, namespace: str, component: str, instance: str, now: Callable[[], datetime]
    ) -> None:
        """`now` is the time of the API server's clock, which all writers use."""
        self._client = client
        self._namespace = namespace
        self._instance = instance
        self._events = Events(client, component, instance)
        self._now = now
        self._emitted: frozenset[str] = frozenset()

    async def read(self) -> Object | None:
        """The stored object; None if there is none.

        Raises:
            KubernetesError: it cannot be read, or its kind is not served.

        """
        return await none_if_absent(self._client.get(PARAMEDIC_STATUSES, NAME, self._namespace))

    async def made(self) -> Object:
        """The stored object, which is created if it is missing; raises as `read`."""
        found = await self.read()
        if found is not None:
            return found
        body: Object = {
            "apiVersion": PARAMEDIC_STATUSES.api_version,
            "kind": PARAMEDIC_STATUSES.kind,
            "metadata": {"name": NAME, "namespace": self._namespace},
        }
        try:
            return await self._client.create(PARAMEDIC_STATUSES, body, self._namespace)
        except AlreadyExists:  # another detector has created it
            return await self._client.get(PARAMEDIC_STATUSES, NAME, self._namespace)

    async def report(
        self, statements: Sequence[Statement], read: Object, installation: Installation | None = None
    ) -> ParamedicStatusDocument:
        """Write changed statements, if the object is still the one that was read; then emit Events.

        Returns the status that is then stored.

        Raises:
            KubernetesError: the write failed; Conflict: another process wrote it meanwhile.

        """
        metadata, now = read["metadata"], self._now()
        status = ParamedicStatusDocument.read(read)
        due = amended(status, statements, self._instance, now, installation)
        if due is not None:
            patch = due.as_patch(metadata["resourceVersion"])
            await self._client.merge_patch(PARAMEDIC_STATUSES, NAME, patch, self._namespace, "status")
            status = due
        await self._emit_events(status, metadata["uid"], now)
        return status

    async def _emit_events(self, status: ParamedicStatusDocument, uid: str, now: datetime) -> None:
        kind = PARAMEDIC_STATUSES
        about = InvolvedObject(
            api_version=kind.api_version, kind=kind.kind, namespace=self._namespace, name=NAME, uid=uid
        )
        due = {event_name(event.seed, about): event for event in events(status, now)}
        for name, event in due.items():
            if name not in self._emitted:
                await self._events.write(event, about, now)
                self._emitted |= {name}
        self._emitted &= due.keys()


async def look_forever(look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` until cancelled, with a pause after each call; an error is logged once, and retried."""
    problems, guard = Problems("not said in Kubernetes whether we can work"), Guard()
    while True:
        wait = LOOK_EVERY_SECONDS
        with guard.item("status", NAMED):
            wait += await _looked(look, problems)
        await asyncio.sleep(wait)


async def _looked(look: Callable[[], Awaitable[None]], problems: Problems) -> float:
    """Look once. Returns the Retry-After of the API server, in seconds."""
    try:
        async with asyncio.timeout(LOOK_WITHIN_SECONDS):
            await look()
    except Conflict:
        return 0.0  # another process wrote it; the next look reads that
    except TimeoutError:
        problems.report(NAMED, f"it took longer than {LOOK_WITHIN_SECONDS:.0f} s")
        return 0.0
    except KubernetesError as error:
        problems.report(NAMED, one_sentence(error))
        return retry_after(error).total_seconds()
    problems.report(NAMED, "")
    return 0.0
