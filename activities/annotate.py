"""annotate: annotate remediation requests, for their remediators and the NodeHealthCheck operator to read.

A patch carries the uid: a request that is gone, or was made anew by somebody, is left alone. One that cannot
be written is answered, and does not keep the others from being written.
"""

import asyncio

from temporalio import activity

from activities.chore_attempt import ChoreAttempt
from activities.live_requests import LiveRequests
from health.model.moves import AnnotationPatch
from workflows.contracts import ANNOTATE, AnnotateInput, AnnotateResult


class Annotate:
    """The activity `annotate`."""

    def __init__(self, live: LiveRequests) -> None:
        self._live = live

    @activity.defn(name=ANNOTATE.name)
    async def annotate(self, asked: AnnotateInput) -> AnnotateResult:
        """Write the annotations; one that is there already is written again, which changes nothing."""
        attempt = ChoreAttempt(ANNOTATE)
        await asyncio.gather(*(self._write(patch, attempt) for patch in asked.patches))
        return AnnotateResult(failures=attempt.failures)

    async def _write(self, patch: AnnotationPatch, attempt: ChoreAttempt) -> None:
        writing = self._live.annotate(patch.request, patch.annotations)
        await attempt.item(patch.subject, str(patch), writing)
