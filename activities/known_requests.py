"""KnownRequests: what the incident made before, and the detector does not see.

Its kind may not be watched any more: a check may have lost the template since, and a MachineHealthCheck does
not list its requests. While such a request is there its remediator is at work, and nothing else is done to
the target, whatever the step (decision 10). Where it is gone somebody deleted it, which counts as an attempt
and is told; unless the incident says that the end of it is no loss: then the step is taken.
"""

from activities.loss_news import LossNews
from activities.outcome import Outcome
from health.references import RequestReference
from health.remediation_request import RemediationRequest
from health.request_sight import RequestSight
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import NotFound
from workflows.contracts import ActInput, ActResult


class KnownRequests:
    """Looks for them in the API server."""

    def __init__(self, client: Client, discovery: Discovery, news: LossNews) -> None:
        self._client = client
        self._discovery = discovery
        self._news = news

    async def answer(self, asked: ActInput) -> Outcome | None:
        """That one is there, or that one was lost; None: nothing is left, nor lost.

        Raises:
            KubernetesError: the API server could not be asked.

        """
        for known in asked.known:
            found = await self._still_there(known)
            if found is not None:
                return Outcome(ActResult(request=found))
        if all(known.uid in asked.settled for known in asked.known):
            return None
        return Outcome(ActResult(is_lost=True), await self._news.of(asked))

    async def _still_there(self, known: RequestReference) -> RequestSight | None:
        try:
            resource = await self._discovery.resource(known.api_version, known.kind)
            found = await self._client.get(resource, known.name, known.namespace)
        except NotFound:
            return None
        if found["metadata"]["uid"] != known.uid:
            return None
        return RemediationRequest.model_validate(found).sight(known.api_version, known.kind)
