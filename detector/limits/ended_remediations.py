"""EndedRemediations: reads the remediations that ended within the last hour, for limits of starts per hour.

Remediations under way show when they began, and later starts are seen in the watch. So ended ones are read
only if such a limit is chosen, after becoming the leader, and once more when visibility must list all of
them.
"""

import asyncio

from temporalio.service import RPCError

from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.reconciler import VISIBLE_AFTER
from detector.limits.remediation_limits import RemediationLimits
from detector.state.in_flight import Remediated
from runtime.problems import Problems, retry_forever

LOOK_AGAIN_SECONDS = 1.0


class EndedRemediations:
    """Reads ended remediations into the limits of one detector."""

    def __init__(self, calls: IncidentCalls, limits: RemediationLimits, problems: Problems) -> None:
        self._calls = calls
        self._limits = limits
        self._problems = problems

    async def lead(self) -> None:
        """Read once a limit of starts is chosen, until cancelled."""
        while True:
            if self._limits.needs_ended:
                await self._try_for_ever()
                self._limits.complete()
                await asyncio.sleep(VISIBLE_AFTER.total_seconds())
                await self._try_for_ever()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _try_for_ever(self) -> None:
        await retry_forever("ended remediations", self._read, (RPCError,), self._problems)

    async def _read(self) -> None:
        for incident, ended in await self._calls.ended_remediations(self._limits.horizon):
            self._limits.note_ended(Remediated.of(incident), ended)
