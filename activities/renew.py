"""renew: keep the Lease of a target while a remediator works on it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from temporalio import activity

from health.remediation_request import holder_of
from kube.node_lease import NodeLeases
from workflows.contracts import RENEW, RenewInput


class Renew:
    """The activity `renew`."""

    def __init__(self, leases: NodeLeases, now: Callable[[], datetime]) -> None:
        self._leases = leases
        self._now = now

    @activity.defn(name=RENEW.name)
    async def renew(self, asked: RenewInput) -> None:
        """Renew the Lease if it is ours; one that is missing or foreign is left as it is (semantics 2.5)."""
        duration = timedelta(seconds=asked.duration_seconds)
        holder = holder_of(asked.incident.check)
        await self._leases.renew(asked.incident.target.name, holder, duration, self._now())
