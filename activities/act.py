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

from activities.draft import Drafts
from activities.etcd import Etcd
from activities.held import ASK_AGAIN_SECONDS, Held
from activities.holder import objection
from activities.still_true import Confirmed, SecondLook, not_true
from activities.target_lease import TargetLeases
from health.durations import in_words
from health.escalation import lease_duration
from health.observation import Hold, HoldReason, failed
from health.references import RequestReference
from health.remediation_request import RemediationRequest
from health.request_sight import RequestSight
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, Forbidden, Invalid, KubernetesError, NotFound
from kube.resource import Object, Resource
from workflows.contracts import ACT, FRESH, ActInput, ActResult

LONGEST = ACT.start_to_close * 0.9
"""An attempt ends before Temporal gives it up: two attempts must never run side by side."""


@dataclass(frozen=True)
class Clock:
    """The two clocks of an act: the time of day for Leases, the monotonic one for ages."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]


class Act:
    """The activity `act`."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        leases: TargetLeases,
        second_look: SecondLook,
        clock: Clock,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._leases = leases
        self._clock = clock
        self._second_look = second_look
        self._drafts = Drafts(client, discovery, second_look.shared)
        self._etcd = Etcd(client, discovery)

    @activity.defn(name=ACT.name)
    async def act(self, asked: ActInput) -> ActResult:
        """Make the request of one step; or answer why not."""
        try:
            _refuse_what_waited()
            async with asyncio.timeout(LONGEST.total_seconds()):
                return await self._act(asked)
        except Held as error:
            return ActResult(hold=error.hold)
        except (Forbidden, Invalid, NotFound) as error:
            return ActResult(hold=_refusal(error))
        except KubernetesError as error:
            return ActResult(hold=failed(error.message))
        except TimeoutError:
            return ActResult(hold=failed(f"it took longer than {in_words(LONGEST)}"))

    async def _act(self, asked: ActInput) -> ActResult:
        for known in asked.known:
            found = await self._still_there(known)
            if found is not None:
                return ActResult(request=found)
        if asked.known:
            return ActResult(is_lost=True)
        return await self._request(asked)

    async def _still_there(self, known: RequestReference) -> RequestSight | None:
        """A request that the incident made before and the detector does not see: never make a second."""
        try:
            resource = await self._discovery.resource(known.api_version, known.kind)
            found = await self._client.get(resource, known.name, known.namespace)
        except NotFound:
            return None
        if found["metadata"]["uid"] != known.uid:
            return None
        return RemediationRequest.model_validate(found).sight(known.api_version, known.kind)

    async def _request(self, asked: ActInput) -> ActResult:
        began = self._clock.monotonic()
        confirmed, template = await asyncio.gather(
            self._second_look.confirm(asked), self._drafts.template(asked.step.template)
        )
        if confirmed.node.is_control_plane and not asked.is_under_way:
            await self._etcd.refuse_loss(confirmed.node.metadata.name)
        body = await self._drafts.request(asked, confirmed, template)
        resource = await self._discovery.resource(body["apiVersion"], body["kind"])
        try:
            lease = await self._take_lease(asked, confirmed)
            self._refuse_old_look(began)
            request = await self._create(resource, body, asked)
        except (Held, Forbidden, Invalid, NotFound) as error:
            await self._give_back(asked, confirmed, error)
            raise
        sight = request.sight(resource.api_version, resource.kind)
        return ActResult(request=sight, lease_acquired_at=lease)

    async def _take_lease(self, asked: ActInput, confirmed: Confirmed) -> datetime:
        duration = lease_duration(asked.step)
        held = await self._leases.take(asked.incident, confirmed.node, duration, self._clock.now())
        return held.acquired

    async def _give_back(self, asked: ActInput, confirmed: Confirmed, error: Exception) -> None:
        """Let others have the target, unless an earlier request of our own check is still at work on it."""
        is_at_work = isinstance(error, Held) and error.hold.reason is HoldReason.EARLIER_REQUEST
        if is_at_work or asked.holds_lease:
            return
        await self._leases.give_back(asked.incident, with_turn=confirmed.node.is_control_plane)

    def _refuse_old_look(self, began: float) -> None:
        if self._clock.monotonic() - began > FRESH.total_seconds():
            raise not_true("the second look took too long to act on it")

    async def _create(self, resource: Resource, body: Object, asked: ActInput) -> RemediationRequest:
        namespace = body["metadata"]["namespace"]
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        existing = RemediationRequest.model_validate(found)
        hold = objection(existing, asked.incident, asked.step.template)
        if hold is not None:
            raise Held(hold)
        return existing


def _refuse_what_waited() -> None:
    """Refuse facts that grew old in the queue, by the server's clock, over all attempts."""
    info = activity.info()
    waited = info.started_time - info.scheduled_time
    if waited > FRESH:
        raise not_true(f"the order to act was {in_words(waited)} old at attempt {info.attempt}: asking anew")


def _refusal(error: KubernetesError) -> Hold:
    return Hold(reason=HoldReason.REFUSED, message=error.message, ask_again_seconds=ASK_AGAIN_SECONDS)
