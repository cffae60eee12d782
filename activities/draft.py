"""Draft: the request of one step, from the live template and what the kind of check adds to it."""

from activities.held import Held
from activities.kind_activities import TemplateUse
from activities.live_objects import LiveObjects
from activities.registry import KIND_ACTIVITIES
from activities.revalidation import Confirmed
from health.model.observation import HoldReason
from health.model.references import TemplateReference
from health.model.remediation_request import InvalidTemplateError
from kube.errors import KindUnknown, NotFound
from kube.resource import Object
from workflows.contracts import ActInput

ASK_AGAIN_SECONDS = 15.0
"""A template that is not there: as its operator requeues; the detector wakes the incident earlier."""


class Drafts:
    """Reads what requests are made from."""

    def __init__(self, live: LiveObjects) -> None:
        self._live = live

    async def template(self, reference: TemplateReference) -> Object:
        """The live template.

        Raises:
            Held: it is not there.
            KubernetesError: the API server could not be asked.

        """
        try:
            resource = await self._live.discovery.resource(reference.api_version, reference.kind)
            return await self._live.shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            if isinstance(error, KindUnknown):  # what is remembered of it is old
                self._live.discovery.forget(reference.api_version)
            raise _unusable(f'Remediation template not found: "{error.message}"') from error

    async def request(self, asked: ActInput, confirmed: Confirmed, template: Object) -> Object:
        """The request to be created.

        Raises:
            Held: the template can't be used.
            KubernetesError: the API server could not be asked.

        """
        kind = KIND_ACTIVITIES[asked.incident.check.group_kind]
        use = TemplateUse(asked, confirmed, template)
        try:
            return await kind.new_request(self._live, use)
        except InvalidTemplateError as error:
            raise _unusable(f'Remediation template is invalid: "{error}"') from error


def _unusable(message: str) -> Held:
    return Held.because(HoldReason.TEMPLATE, message, ask_again_seconds=ASK_AGAIN_SECONDS)
