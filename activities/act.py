"""act: make the remediation request of one step, if all that admitted it is still true.

Order: refuse what waited too long, look again (target, check, template), take the Lease of the target, look
at the clock, create. Names are deterministic, so an attempt that is made again meets its own request. A
create has no precondition: a target that recovers between the look and the create gets a request that the
incident removes within seconds.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from temporalio import activity

from activities.held import Held
from activities.holder import objection
from activities.still_true import Confirmed, SecondLook, not_true
from health.durations import in_words
from health.next_move import lease_duration
from health.object_metadata import OwnerReference
from health.observation import Hold, HoldReason
from health.references import RequestReference, TemplateReference
from health.remediation_request import (
    Attempt,
    InvalidTemplateError,
    RemediationRequest,
    holder_of,
    new_request,
)
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, Forbidden, Invalid, KubernetesError, LeaseTaken, NotFound
from kube.node_lease import NodeLeases
from kube.resource import Object, Resource
from kube.shared_reads import SharedReads
from workflows.contracts import ACT, FRESH, ActInput, ActResult

ASK_AGAIN_SECONDS = 60.0
"""After a refusal that only people can mend: as the reference's requeue."""
TEMPLATE_ASK_AGAIN_SECONDS = 15.0
"""A template that is not there: as the reference's requeue."""
MACHINE_API = "machine.openshift.io/v1beta1"


@dataclass(frozen=True)
class Clock:
    """The two clocks of an act: the time of day for Leases, the monotonic one for ages."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]


class Act:
    """The activity `act`."""

    def __init__(self, client: Client, discovery: Discovery, leases: NodeLeases, clock: Clock) -> None:
        self._client = client
        self._discovery = discovery
        self._leases = leases
        self._clock = clock
        self._shared = SharedReads(client)
        self._second_look = SecondLook(client, self._shared)

    @activity.defn(name=ACT.name)
    async def act(self, asked: ActInput) -> ActResult:
        """Make the request of one step; or answer why not."""
        try:
            _refuse_what_waited()
            # Ends before Temporal gives the attempt up: two attempts must never run side by side.
            async with asyncio.timeout(ACT.start_to_close.total_seconds() * 0.9):
                request = await self._still_there(asked.known) or await self._request(asked)
                return ActResult(request=request)
        except Held as error:
            return ActResult(hold=error.hold)
        except (Forbidden, Invalid, NotFound) as error:
            return ActResult(hold=_refusal(error))

    async def _still_there(self, known: tuple[RequestReference, ...]) -> RequestReference | None:
        """A request that the incident made before and the detector does not see: never make a second."""
        for request in known:
            try:
                resource = await self._discovery.resource(request.api_version, request.kind)
                found = await self._client.get(resource, request.name, request.namespace)
            except NotFound:
                continue
            if found["metadata"]["uid"] == request.uid:
                return request
        return None

    async def _request(self, asked: ActInput) -> RequestReference:
        began = self._clock.monotonic()
        confirmed, template = await asyncio.gather(
            self._second_look.confirm(asked), self._template(asked.step.template)
        )
        machine = await self._machine(confirmed.node.metadata.annotations.machine, asked.step.template)
        body = _contents(asked, confirmed, template, machine)
        resource = await self._discovery.resource(body["apiVersion"], body["kind"])
        await self._take_lease(asked, confirmed)
        try:
            self._refuse_old_look(began)
            request = await self._create(resource, body, asked)
        except (Held, Forbidden, Invalid, NotFound) as error:
            await self._give_back(asked, error)
            raise
        return request.reference(resource.api_version, resource.kind)

    async def _give_back(self, asked: ActInput, error: Exception) -> None:
        """Let others have the target, unless an earlier request of our own check is still at work on it."""
        if isinstance(error, Held) and error.hold.reason is HoldReason.EARLIER_REQUEST:
            return
        target = asked.incident.target
        await self._leases.release(target.name, target.uid, holder_of(asked.incident.check))

    def _refuse_old_look(self, began: float) -> None:
        if self._clock.monotonic() - began > FRESH.total_seconds():
            raise not_true("the second look took too long to act on it")

    async def _take_lease(self, asked: ActInput, confirmed: Confirmed) -> None:
        metadata = confirmed.node.metadata
        holder, duration = holder_of(asked.incident.check), lease_duration(asked.step)
        try:
            await self._leases.obtain(metadata.name, metadata.uid, holder, duration, self._clock.now())
        except LeaseTaken as error:
            message = f"{error.holder} holds the Lease of {metadata.name}"
            raise Held.because(HoldReason.TAKEN, message, ask_again_seconds=ASK_AGAIN_SECONDS) from error

    async def _create(self, resource: Resource, body: Object, asked: ActInput) -> RemediationRequest:
        namespace = body["metadata"]["namespace"]
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        existing = RemediationRequest.model_validate(found)
        hold = objection(existing, asked.incident)
        if hold is not None:
            raise Held(hold)
        return existing

    async def _template(self, reference: TemplateReference) -> Object:
        try:
            resource = await self._discovery.resource(reference.api_version, reference.kind)
            return await self._shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            message = f'Remediation template not found: "{error.message}"'
            raise _template_hold(message) from error

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


def _refuse_what_waited() -> None:
    """Refuse facts that grew old in the queue, by the server's clock, over all attempts."""
    info = activity.info()
    waited = info.started_time - info.scheduled_time
    if waited > FRESH:
        raise not_true(f"the order to act was {in_words(waited)} old at attempt {info.attempt}: asking anew")


def _contents(
    asked: ActInput, confirmed: Confirmed, template: Object, machine: OwnerReference | None
) -> Object:
    attempt = Attempt(incident=asked.incident, run_id=asked.run_id, step=asked.step_number)
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
        message = f'Remediation template is invalid: "{error}"'
        raise _template_hold(message) from error


def _template_hold(message: str) -> Held:
    return Held.because(HoldReason.TEMPLATE, message, ask_again_seconds=TEMPLATE_ASK_AGAIN_SECONDS)


def _refusal(error: KubernetesError) -> Hold:
    return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=ASK_AGAIN_SECONDS)
