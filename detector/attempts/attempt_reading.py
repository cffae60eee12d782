"""AttemptReading: reads from Temporal the remediations that ended before this detector became the leader.

It reads them once, and once more when visibility, which is eventually consistent, must list all of them.
Later ends are seen in the watch. Nothing new is admitted before the first answer. Without a limit nothing is
read; when the limit grows, everything is read again, as older ends matter too. An incident that is encrypted
with a missing key is waited for like an unreachable Temporal, until it ended too long ago to matter.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta

from temporalio.service import RPCError

from detector.attempts.attempts import Attempts
from detector.dispatching.incident_calls import IncidentCalls
from detector.dispatching.reconciler import VISIBLE_AFTER
from detector.state.cluster_state import ClusterState
from runtime.payload_codec import UnreadablePayload
from runtime.problems import Problems
from runtime.retrying import retry_forever

LONGEST_WAIT = timedelta(seconds=1)
"""Starts and answers wait no longer; without the reading, everything that back-off could hold is held."""

_NOT_READ = (RPCError, UnreadablePayload)
LOOK_AGAIN_SECONDS = 1.0
"""How often to look for a limit that grew."""


class AttemptReading:
    """Reads ended remediations into the `Attempts` of one detector."""

    def __init__(
        self, calls: IncidentCalls, attempts: Attempts, cluster_state: ClusterState, problems: Problems
    ) -> None:
        self._calls = calls
        self._attempts = attempts
        self._cluster_state = cluster_state
        self._problems = problems
        self._tried = asyncio.Event()

    async def lead(self) -> None:
        """Read when the limit grows, until cancelled."""
        known = timedelta()
        while True:
            if (limit := self._attempts.limit) > known:
                await self._read_all()
                known = limit
            self._tried.set()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _read_all(self) -> None:
        await retry_forever("ended remediations", self._read, _NOT_READ, self._problems)
        await asyncio.sleep(VISIBLE_AFTER.total_seconds())
        await retry_forever("ended remediations", self._read, _NOT_READ, self._problems)

    async def wait_tried(self) -> None:
        """Return after the first answer or error of Temporal, or after `LONGEST_WAIT`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT.total_seconds()):
                await self._tried.wait()

    async def _read(self) -> None:
        try:
            found = await self._calls.ended_attempts(self._attempts.horizon)
        finally:
            self._tried.set()
        for target, attempt in sorted(found, key=lambda one: one[1].ended):
            self._attempts.note(target, attempt)
        if self._attempts.unread:
            self._attempts.complete()
            self._cluster_state.notify_all()
