"""EndedRemediations: those that ended within the last hour, read from Temporal for limits of starts per hour.

What is under way tells by itself when it began, and what begins is seen. So it is read once, where such a
limit is chosen, on taking the lead; and once more when all that ended until then is surely listed.
"""

import asyncio

from temporalio.service import RPCError

from detector.answers.remediation_limits import RemediationLimits
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.reconciler import VISIBLE_AFTER
from detector.state.in_flight import Remediated
from runtime.problems import Problems
from runtime.retrying import retry_forever

LOOK_AGAIN_SECONDS = 1.0


class EndedRemediations:
    """Tells the limits of one detector what there was."""

    def __init__(self, calls: IncidentCalls, limits: RemediationLimits, problems: Problems) -> None:
        self._calls = calls
        self._limits = limits
        self._problems = problems

    async def lead(self) -> None:
        """Read what there was when it begins to matter, until cancelled."""
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
