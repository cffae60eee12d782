"""LeaderWatch: whoever does not lead looks at the Lease of the leader, and says so where nobody renews it.

A leader cannot say that there is none. A worker lives where all detectors are gone; a standby, where it may
not take the Lease. The object is read before the Lease is looked at once more, and written only as it was
read: so a detector that takes the lead meanwhile has the last word.
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
    """Watches the Lease of the leader for one process."""

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
        """What was seen is of the past: nobody has looked since."""
        self._observation = None

    async def look(self) -> None:
        """Look, and say so if nobody leads.

        Raises:
            KubernetesError: something cannot be read, or written.

        """
        if not await self._note_leader():
            return
        read = await self._writer.read()
        if read is not None and await self._note_leader():
            await self._writer.say(by_others(f"{self._namespace}/{LEADER_LEASE}"), read)

    async def _note_leader(self) -> bool:
        """Note who leads; answers whether nobody has for long."""
        before = self._observation
        self.forget()  # unless this look succeeds: one that failed, or was given up, saw nothing
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
