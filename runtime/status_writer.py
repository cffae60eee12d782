"""StatusWriter: writes what we say of ourselves into the ParamedicStatus, and tells its changes by Events.

Nothing is remembered but which Events were told: what is written is decided by what stands there, each time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from kube.client import Client
from kube.errors import AlreadyExists, KindUnknown, NotFound
from kube.events import Events, ObjectReference, event_name
from kube.resource import Object
from runtime.paramedic_status import (
    NAME,
    PARAMEDIC_STATUSES,
    Installation,
    Statement,
    Status,
    amended,
    events,
)


class StatusWriter:
    """One process's hand in the ParamedicStatus of its namespace."""

    def __init__(
        self, client: Client, namespace: str, component: str, instance: str, now: Callable[[], datetime]
    ) -> None:
        """`now` is the time by the API server's clock, by which all writers go."""
        self._client = client
        self._namespace = namespace
        self._instance = instance
        self._events = Events(client, component, instance)
        self._now = now
        self._told: frozenset[str] = frozenset()

    async def read(self) -> Object | None:
        """The object as it is; None: there is none.

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
        """The object as it is, made if there is none; raises as `read`."""
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
        except AlreadyExists:  # another detector was faster
            return await self._client.get(PARAMEDIC_STATUSES, NAME, self._namespace)

    async def say(
        self, statements: Sequence[Statement], read: Object, installation: Installation | None = None
    ) -> Status:
        """Write what is not written yet, if the object is still as it was read; then tell what changed.

        Answers what stands there then.

        Raises:
            KubernetesError: it could not be done; Conflict: somebody has written it meanwhile.

        """
        metadata, now = read["metadata"], self._now()
        status = Status.read(read)
        due = amended(status, statements, self._instance, now, installation)
        if due is not None:
            patch = due.as_patch(metadata["resourceVersion"])
            await self._client.merge_patch(PARAMEDIC_STATUSES, NAME, patch, self._namespace, "status")
            status = due
        await self._tell(status, metadata["uid"], now)
        return status

    async def _tell(self, status: Status, uid: str, now: datetime) -> None:
        kind = PARAMEDIC_STATUSES
        about = ObjectReference(kind.api_version, kind.kind, self._namespace, NAME, uid)
        notes = {event_name(note): note for note in events(status, about, now)}
        for name, note in notes.items():
            if name not in self._told:
                await self._events.write(note, now)
                self._told |= {name}
        self._told &= notes.keys()
