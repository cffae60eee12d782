"""Draft: the request of one step, from the live template and the Machine of the node."""

from activities.held import Held
from activities.still_true import Confirmed
from health.object_metadata import OwnerReference
from health.observation import HoldReason
from health.references import TemplateReference
from health.remediation_request import Attempt, InvalidTemplateError, new_request
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import NotFound
from kube.resource import Object
from kube.shared_reads import SharedReads
from workflows.contracts import ActInput

ASK_AGAIN_SECONDS = 15.0
"""A template that is not there: as the reference's requeue; the detector wakes the incident earlier."""
MACHINE_API = "machine.openshift.io/v1beta1"


class Drafts:
    """Reads what requests are made from."""

    def __init__(self, client: Client, discovery: Discovery, shared: SharedReads) -> None:
        self._client = client
        self._discovery = discovery
        self._shared = shared

    async def template(self, reference: TemplateReference) -> Object:
        """The live template.

        Raises:
            Held: it is not there.
            KubernetesError: the API server could not be asked.

        """
        try:
            resource = await self._discovery.resource(reference.api_version, reference.kind)
            return await self._shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            raise _unusable(f'Remediation template not found: "{error.message}"') from error

    async def request(self, asked: ActInput, confirmed: Confirmed, template: Object) -> Object:
        """The request to be created.

        Raises:
            Held: the template can't be used.
            KubernetesError: the API server could not be asked.

        """
        machine = await self._machine(confirmed.node.metadata.annotations.machine, asked.step.template)
        attempt = Attempt(incident=asked.incident, run_id=asked.run_id, number=asked.attempt)
        try:
            return new_request(
                attempt,
                asked.step,
                template=template,
                check=confirmed.owner,
                machine=machine,
                node=confirmed.node,
            )
        except InvalidTemplateError as error:
            raise _unusable(f'Remediation template is invalid: "{error}"') from error

    async def _machine(self, annotation: str, template: TemplateReference) -> OwnerReference | None:
        """The node's Machine, as a second owner, where both live in one namespace (semantics 2.4/3)."""
        namespace, _, name = annotation.partition("/")
        if not name or namespace != template.namespace:
            return None
        try:
            resource = await self._discovery.resource(MACHINE_API, "Machine")
            machine = await self._client.get(resource, name, namespace)
        except NotFound:
            return None
        return OwnerReference(
            api_version=MACHINE_API, kind="Machine", name=name, uid=machine["metadata"]["uid"]
        )


def _unusable(message: str) -> Held:
    return Held.because(HoldReason.TEMPLATE, message, ask_again_seconds=ASK_AGAIN_SECONDS)
