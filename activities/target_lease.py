"""TargetLease: the Lease of an incident's target, and for a control-plane node the control plane's turn.

The turn is one Lease for the whole cluster, whatever check and kind of request (decision 21): the node that
holds it is the one control-plane node that is remediated. Both are taken before a request is made, kept
while its remediator works, and given back together.
"""

from datetime import datetime, timedelta

from activities.held import ASK_AGAIN_SECONDS, Held
from health.node import Node
from health.observation import HoldReason
from health.references import IncidentReference
from health.remediation_request import holder_of, turn_holder_of
from kube.client import Client
from kube.errors import LeaseTaken
from kube.held_lease import HeldLeases, LeaseHeld
from kube.lease import CONTROL_PLANE_TURN
from kube.node_lease import NodeLeases


class TargetLeases:
    """The Leases of targets in one namespace."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._nodes = NodeLeases(client, namespace)
        self._leases = HeldLeases(client, namespace)

    async def take(
        self, incident: IncidentReference, node: Node, duration: timedelta, now: datetime
    ) -> LeaseHeld:
        """Hold the Lease of the target, and the turn.

        Raises:
            Held: somebody else holds one of them; the other may be ours by now.
            KubernetesError: as the client does.

        """
        holder = holder_of(incident.check)
        try:
            held = await self._nodes.obtain(node.metadata.name, node.metadata.uid, holder, duration, now)
        except LeaseTaken as error:
            message = f"{error.holder} holds the Lease of {node.metadata.name}"
            raise Held.because(HoldReason.TAKEN, message, ask_again_seconds=ASK_AGAIN_SECONDS) from error
        if node.is_control_plane:
            await self._take_turn(incident, duration, now)
        return held

    async def keep(
        self, incident: IncidentReference, duration: timedelta, now: datetime, *, with_turn: bool
    ) -> LeaseHeld | None:
        """Renew what is ours; what is missing or foreign is left as it is (semantics 2.5)."""
        if with_turn:
            await self._leases.renew(CONTROL_PLANE_TURN, _sign(incident), duration, now)
        return await self._nodes.renew(incident.target.name, holder_of(incident.check), duration, now)

    async def give_back(self, incident: IncidentReference, *, with_turn: bool) -> None:
        """Let others have the target, and the turn."""
        target = incident.target
        await self._nodes.release(target.name, target.uid, holder_of(incident.check))
        if with_turn:
            await self._leases.release(CONTROL_PLANE_TURN, _sign(incident))

    async def _take_turn(self, incident: IncidentReference, duration: timedelta, now: datetime) -> None:
        try:
            await self._leases.obtain(CONTROL_PLANE_TURN, _sign(incident), duration, now)
        except LeaseTaken as error:
            message = f"one control-plane node at a time: {error.holder} has the turn"
            raise Held.because(
                HoldReason.CONTROL_PLANE, message, ask_again_seconds=ASK_AGAIN_SECONDS
            ) from error


def _sign(incident: IncidentReference) -> str:
    return turn_holder_of(incident.check, incident.target.name)
