"""LossEvents: what to tell of a request that somebody deleted while its target is unhealthy (rule 14).

Check and target are read for the Event alone, and never in the way of the answer: where that fails, or takes
longer than half a second, nothing is told.
"""

import asyncio

from pydantic import ValidationError
from temporalio import activity

from activities.event_recorder import LONGEST
from activities.live_objects import LiveObjects
from health.gate.back_off import LostRequest
from health.gate.cluster_context import ClusterContext
from health.kinds.registry import CHECK_KINDS
from health.model.event import Event
from kube.errors import KubernetesError
from workflows.contracts import ActInput


class LossEvents:
    """Says it in the words of the kind of check."""

    def __init__(self, live: LiveObjects) -> None:
        self._live = live

    async def of(self, asked: ActInput) -> Event | None:
        """The Event of what an act finds lost; None: the next request is due at once, or nobody can say."""
        if asked.due_after_loss is None:
            return None
        try:
            async with asyncio.timeout(LONGEST.total_seconds()):
                check_uid, node_name = await asyncio.gather(self._check_uid(asked), self._node_name(asked))
        except (KubernetesError, ValidationError, TimeoutError) as error:
            activity.logger.warning("Event not written", extra={"reason": str(error) or "it took too long"})
            return None
        uids = tuple(known.uid for known in asked.known)
        lost = LostRequest(asked.incident, asked.run_id, uids, asked.due_after_loss, check_uid, node_name)
        return CHECK_KINDS[asked.incident.check.group_kind].request_lost(lost)

    async def _check_uid(self, asked: ActInput) -> str:
        uid: str = (await self._live.check(asked.incident.check))["metadata"]["uid"]
        return uid

    async def _node_name(self, asked: ActInput) -> str:
        return (await self._live.target(asked.incident, ClusterContext())).node_name
