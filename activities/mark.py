"""mark: annotate remediation requests, for their remediators and the NodeHealthCheck operator to read.

A patch carries the uid: a request that is gone, or was made anew by somebody, is left alone. One that cannot
be written is answered, and does not keep the others from being written.
"""

import asyncio

from temporalio import activity

from activities.chore_attempt import ChoreAttempt
from activities.live_requests import LiveRequests
from health.model.moves import RequestMark
from workflows.contracts import MARK, MarkInput, MarkResult


class Mark:
    """The activity `mark`."""

    def __init__(self, live: LiveRequests) -> None:
        self._live = live

    @activity.defn(name=MARK.name)
    async def mark(self, asked: MarkInput) -> MarkResult:
        """Write the marks; one that is there already is written again, which changes nothing."""
        attempt = ChoreAttempt(MARK)
        await asyncio.gather(*(self._write(mark, attempt) for mark in asked.marks))
        return MarkResult(failures=attempt.failures)

    async def _write(self, mark: RequestMark, attempt: ChoreAttempt) -> None:
        writing = self._live.annotate(mark.request, mark.annotations)
        await attempt.item(mark.subject, str(mark), writing)
