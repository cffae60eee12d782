"""mark: write annotations on remediation requests, for their remediators and for the reference to read.

A patch carries the uid: a request that is gone, or was made anew by somebody, is left alone. One that the API
server refuses is left as it is, too: a remediator that does not let us write must not stop the incident.
"""

from temporalio import activity

from activities.asking_again import no_earlier_than_told
from health.moves import RequestMark
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import Conflict, Forbidden, Invalid, NotFound
from workflows.contracts import MARK, MarkInput


class Mark:
    """The activity `mark`."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    @activity.defn(name=MARK.name)
    @no_earlier_than_told
    async def mark(self, asked: MarkInput) -> None:
        """Write the marks; one that is there already is written again, which changes nothing."""
        for mark in asked.marks:
            await self._write(mark)

    async def _write(self, mark: RequestMark) -> None:
        request = mark.request
        patch = {"metadata": {"uid": request.uid, "annotations": mark.annotations}}
        try:
            resource = await self._discovery.resource(request.api_version, request.kind)
            await self._client.merge_patch(resource, request.name, patch, request.namespace)
        except (NotFound, Conflict):
            return
        except (Forbidden, Invalid) as error:  # Invalid is also the answer to another uid
            activity.logger.warning("request is not marked", extra={"reason": error.message})
