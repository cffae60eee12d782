"""KnownRequests: what the incident made before, and the detector does not see.

Its kind may not be watched any more: a check may have lost the template since, and a MachineHealthCheck does
not list its requests. While such a request is there its remediator is at work, and nothing else is done to
the target, whatever the step (decision 10). Where it is gone (activities/live_requests.py says when) somebody
deleted it, which counts as an attempt and is told; unless the incident says that the end of it is no loss:
then the step is taken.
"""

from activities.live_requests import LiveRequests
from activities.loss_news import LossNews
from activities.outcome import Outcome
from health.model.references import RequestReference
from health.model.remediation_request import RemediationRequest
from health.model.request_sight import RequestSight
from workflows.contracts import ActInput, ActResult


class KnownRequests:
    """Looks for them in the API server."""

    def __init__(self, live: LiveRequests, news: LossNews) -> None:
        self._live = live
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
        found = await self._live.find(known)
        if found is None:
            return None
        return RemediationRequest.model_validate(found).sight(known.api_version, known.kind)
