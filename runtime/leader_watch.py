"""LeaderWatch: processes that do not lead watch the leader Lease, and report if it is not renewed.

A missing leader cannot report itself. A worker runs even if all detectors are gone; a standby runs even if it
may not take the Lease. The status object is read before the second look at the Lease, and written only in
that version: so a detector that takes the lead meanwhile overrides the report.
"""

from collections.abc import Callable
from datetime import timedelta

from kube.client import Client
from kube.errors import NotFound
from kube.lease import LeaseRecord
from kube.resource import LEASES
from kube.server_clock import monotonic_clock
from runtime.process_names import LEADER_LEASE
from runtime.statements import LeaderObservation, by_others, seen
from runtime.status_writer import StatusWriter


class LeaderWatch:
    """Watches the leader Lease for one process."""

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
        self._observation: LeaderObservation | None = None

    def forget(self) -> None:
        """Discard earlier observations, for example after a failed look."""
        self._observation = None

    async def look(self) -> None:
        """Look at the Lease, and report if no detector leads.

        Raises:
            KubernetesError: an object cannot be read or written.

        """
        if not await self._note_leader():
            return
        read = await self._writer.read()
        if read is not None and await self._note_leader():
            await self._writer.report(by_others(f"{self._namespace}/{LEADER_LEASE}"), read)

    async def _note_leader(self) -> bool:
        """Record the leader; True if there has been none for long."""
        before = self._observation
        self.forget()  # a failed or cancelled look must leave no observation
        version, holder = await self._lease()
        now = timedelta(seconds=self._clock())
        self._observation = seen(before, version, holder, now)
        return self._observation.is_leaderless(now)

    async def _lease(self) -> tuple[str, str]:
        try:
            found = LeaseRecord.read(await self._client.get(LEASES, LEADER_LEASE, self._namespace))
        except NotFound:
            return "", ""
        return found.metadata.resource_version, found.spec.holder_identity or ""
