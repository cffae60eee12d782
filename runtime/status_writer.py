"""StatusWriter: writes statements into the ParamedicStatus, and emits Events about changes.

Only the names of emitted Events are remembered: each write is decided by the stored object.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from kube.client import Client
from kube.errors import AlreadyExists, KindUnknown, NotFound
from kube.events import Events, event_name
from kube.resource import Object
from objects.event import InvolvedObject
from runtime.paramedic_status import (
    NAME,
    PARAMEDIC_STATUSES,
    Installation,
    ParamedicStatusDocument,
    Statement,
    amended,
    events,
)


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
        try:
            return await self._client.get(PARAMEDIC_STATUSES, NAME, self._namespace)
        except KindUnknown:
            raise
        except NotFound:
            return None

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
