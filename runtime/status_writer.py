"""StatusWriter: writes statements into the ParamedicStatus, and emits Events about changes.

Only the names of emitted Events are remembered: each write is decided by the stored object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from kube.client import Client
from kube.errors import AlreadyExists, Conflict, KubernetesError, none_if_absent, retry_after
from kube.events import Events, event_name
from kube.lease import LeaseRecord
from kube.resource import LEASES, Object
from kube.server_clock import monotonic_clock
from objects.event import InvolvedObject
from runtime.guard import Guard
from runtime.paramedic_status import (
    LEADERLESS_FOR,
    NAME,
    PARAMEDIC_STATUSES,
    Installation,
    ParamedicStatusDocument,
    Statement,
    amended,
    by_others,
    events,
)
from runtime.problems import Problems, one_sentence
from runtime.process_names import LEADER_LEASE

LOOK_EVERY_SECONDS = 10.0
LOOK_WITHIN_SECONDS = 25.0
"""Longer than a call to Temporal, which may take 10 s."""
NAMED = "ParamedicStatus"


class StatusWriter:
    """Writes the ParamedicStatus in one namespace for one process.

    Each method raises KubernetesError if the object cannot be read or written, or its kind is not served.
    """

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
        """The stored object; None if there is none."""
        return await none_if_absent(self._client.get(PARAMEDIC_STATUSES, NAME, self._namespace))

    async def made(self) -> Object:
        """The stored object, which is created if it is missing."""
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

        Returns the status that is then stored. Raises Conflict: another process wrote it meanwhile.
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


class LeaderWatch:
    """Watches the leader Lease for one process that does not lead, and reports if it is not renewed.

    A missing leader cannot report itself. A worker runs even if all detectors are gone; a standby runs even
    if it may not take the Lease. The status object is read before the second look at the Lease, and written
    only in that version: so a detector that takes the lead meanwhile overrides the report.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        writer: StatusWriter,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._writer = writer
        self._clock = clock
        self._observation: tuple[str | None, float] | None = None
        """The version of the Lease, None without one, and when it was last seen to be renewed."""

    def forget(self) -> None:
        """Discard earlier observations, for example after a failed look."""
        self._observation = None

    async def look(self) -> None:
        """Look at the Lease, and report if no detector leads; raises as StatusWriter."""
        if not await self._is_leaderless():
            return
        read = await self._writer.read()
        if read is not None and await self._is_leaderless():
            await self._writer.report(by_others(f"{self._namespace}/{LEADER_LEASE}"), read)

    async def _is_leaderless(self) -> bool:
        """True if no detector has led for so long that a takeover is not to be expected.

        The first look, and a look after a failed one, starts anew. The times in a Lease are of another clock,
        so this clock measures since when the Lease has not changed.
        """
        before = self._observation
        self.forget()  # a failed or cancelled look must leave no observation
        found = await none_if_absent(self._client.get(LEASES, LEADER_LEASE, self._namespace))
        lease = None if found is None else LeaseRecord.read(found)
        version, now = None if lease is None else lease.metadata.resource_version, self._clock()
        renewed_at = now if before is None else before[1]
        if before is not None and lease is not None and lease.spec.holder_identity and version != before[0]:
            renewed_at = now
        self._observation = version, renewed_at
        return now - renewed_at >= LEADERLESS_FOR.total_seconds()


async def look_forever(look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` until cancelled, with a pause after each call; an error is logged once, and retried."""
    problems, guard = Problems("not said in Kubernetes whether we can work"), Guard()
    while True:
        wait = LOOK_EVERY_SECONDS
        with guard.item("status", NAMED):
            try:
                async with asyncio.timeout(LOOK_WITHIN_SECONDS):
                    await look()
            except Conflict:
                pass  # another process wrote it; the next look reads that
            except TimeoutError:
                problems.report(NAMED, f"it took longer than {LOOK_WITHIN_SECONDS:.0f} s")
            except KubernetesError as error:
                problems.report(NAMED, one_sentence(error))
                wait += retry_after(error).total_seconds()
            else:
                problems.report(NAMED, None)
        await asyncio.sleep(wait)
