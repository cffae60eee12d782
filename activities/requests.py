"""The requests of an incident: found by uid, and changed only if they are its own (rule 52, ADR 42).

A 404 can mean that the request is gone, or only that the version of its kind is: the API server names the
missing object, and no object if it lacks the kind (kube/status.py). In the second case discovery is
repeated, and the request is looked for in the served version. A request is gone if the API server does not
find it where its kind is served, if it has another uid, or if no version of its kind is served. A request
that cannot be read is not gone.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from pydantic import ValidationError

from activities.attempt import InputRefused
from activities.live_objects import LiveObjects
from health.kinds.registry import CHECK_KINDS, why_no_request
from health.model.invalid_check import InvalidCheckError
from health.model.moves import AnnotationPatch
from health.model.references import IncidentReference, RequestReference
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.runbook.escalation import Plan
from health.runbook.failures import WRITTEN
from kube.connection import ClusterConnection
from kube.errors import KindUnknown, NotFound, Unreachable, none_if_absent
from kube.resource import Object, Resource
from kube.retry_on_conflict import retry_on_conflict
from objects.field_problem import FieldProblem

TRIES = 5
"""Remediators often write to their requests; after this many conflicts the change is tried again later."""


class NotOwn(InputRefused):
    """The object is not a request of the incident."""


class LiveRequests:
    """Finds requests by uid, and deletes and annotates them as they were read: None, if the request is gone.

    Each method raises KubernetesError if the result is unknown, and never NotFound. A change raises Conflict
    if the request changed since `resource_version`, or has another uid: read it again.
    """

    def __init__(self, connection: ClusterConnection) -> None:
        self._client = connection.client
        self._discovery = connection.discovery

    async def find(self, reference: RequestReference) -> Object | None:
        name, namespace = reference.name, reference.namespace
        found = await self._ask(reference, lambda resource: self._client.get(resource, name, namespace))
        return found if found is not None and found["metadata"]["uid"] == reference.uid else None

    async def delete(self, reference: RequestReference, resource_version: str) -> Object | None:
        """The API server's answer to the deletion."""
        name, namespace = reference.name, reference.namespace
        identity = {"uid": reference.uid, "resource_version": resource_version}
        return await self._ask(
            reference, lambda resource: self._client.delete(resource, name, namespace, **identity)
        )

    async def annotate(
        self, reference: RequestReference, annotations: Mapping[str, str | None], resource_version: str
    ) -> Object | None:
        """The request with our labels and these annotations; those with the value None are removed."""
        name, namespace = reference.name, reference.namespace
        identity = {"uid": reference.uid, "resourceVersion": resource_version}
        labels = dict(self._client.labels)  # an adopted request has none of ours yet
        patch: Object = {"metadata": {**identity, "annotations": dict(annotations), "labels": labels}}
        return await self._ask(
            reference, lambda resource: self._client.merge_patch(resource, name, patch, namespace)
        )

    async def _ask(
        self, reference: RequestReference, question: Callable[[Resource], Awaitable[Object]]
    ) -> Object | None:
        """The answer from the version that is served."""
        try:
            return await question(await self._discovery.resource(reference.api_version, reference.kind))
        except KindUnknown:
            served = await self._discovery.served_now(reference.api_version, reference.kind)
        except NotFound:
            return None
        if served is None:
            return None
        try:
            return await question(served)
        except KindUnknown as error:
            problem = f"{served.full_name} was served, but {error.message}"
            raise Unreachable(problem, path=error.path) from error
        except NotFound:
            return None


class OwnRequests:
    """Changes the requests of one incident, and no other object: None, if the request is gone.

    The input of an activity comes through Temporal, where other clients may write. So each request is read
    right before it is changed, and the change carries the uid and the resourceVersion of that read. A request
    is the incident's own if one of these is true:

    - It belongs to the check and names the incident, as each request that `act` makes does.
    - The check, as it is read now, owns it by uid. The NodeHealthCheck operator makes such requests.
    - The operator of its kind made it for the target, which the check selects, from a template of the check.

    Requests of the last two forms are adopted: the incident writes its name on them. Targets, checks and
    built-in kinds are never requests, with any annotations.

    Each method raises KubernetesError if the result is unknown, and never NotFound; NotOwn, if nothing was
    done because of the owner; a change raises Conflict if the request changed in each of the TRIES.
    """

    def __init__(self, objects: LiveObjects) -> None:
        self.management = objects.management
        self.live = LiveRequests(objects.management)
        self._objects = objects

    async def delete(self, reference: RequestReference, incident: IncidentReference) -> Object | None:
        """The answer of the API server to the deletion."""
        return await self._changed(reference, incident, partial(self.live.delete, reference))

    async def annotate(self, patch: AnnotationPatch, incident: IncidentReference) -> Object | None:
        """The request with these annotations, without those with the value None.

        Raises InputRefused also for an annotation that we do not write.
        """
        if foreign := sorted(patch.annotations.keys() - WRITTEN):
            raise InputRefused(f"requests get no annotation {foreign[0]} from us")
        texts = {**patch.annotations, **({INCIDENT: incident.full_id} if patch.adopts else {})}
        return await self._changed(patch.request, incident, partial(self.live.annotate, patch.request, texts))

    async def _changed(
        self,
        reference: RequestReference,
        incident: IncidentReference,
        change: Callable[[str], Awaitable[Object | None]],
    ) -> Object | None:
        """The result of `change`, by the resourceVersion of the request as it was just read."""

        async def change_once() -> Object | None:
            found = await self.find(reference, incident)
            return None if found is None else await change(found["metadata"]["resourceVersion"])

        return await retry_on_conflict(change_once, TRIES)

    async def find(self, reference: RequestReference, incident: IncidentReference) -> Object | None:
        if why := why_no_request(reference.api_version, reference.kind):
            raise NotOwn(f"{reference} is not a request: {why}")
        found = await self.live.find(reference)
        if found is not None and not await self._is_own(found, reference, incident):
            raise NotOwn(f"{reference} is not a request of {incident.workflow_id}")
        return found

    async def _is_own(self, found: Object, reference: RequestReference, incident: IncidentReference) -> bool:
        # Parse only its metadata: an invalid status may be the reason why the detector does not see it.
        request = RemediationRequest.model_validate({"metadata": found["metadata"]})
        kind = CHECK_KINDS[incident.check.group_kind]
        if kind.owner_of(request) == incident.check and request.names(incident):
            return True
        check = await none_if_absent(self._objects.check(incident.check))
        if check is None:
            return False
        if check["metadata"]["uid"] in {owner.uid for owner in request.metadata.owner_references}:
            return request.target_name == incident.target.name
        is_of_operator = kind.is_unsigned_for(request, incident.target)
        return is_of_operator and await self._would_make(check, reference, incident)

    async def _would_make(
        self, raw: Object, reference: RequestReference, incident: IncidentReference
    ) -> bool:
        """True if the check names a template of the request and selects the target.

        Raises:
            InputRefused: the check or the target cannot be read.
            KubernetesError: the API server could not be asked; NotFound: the target is gone.

        """
        try:
            check = CHECK_KINDS[incident.check.group_kind].parse(raw)
            if Plan(check.steps).step_of(reference) is None:
                return False
            context = await self._objects.context(check)
            target = await none_if_absent(self._objects.target(incident, context))
        except InvalidCheckError as error:
            raise InputRefused(f"{incident.check} cannot be read: {error}") from error
        except ValidationError as error:
            problem = FieldProblem.of(error)
            raise InputRefused(f"{incident.target} or its context cannot be read: {problem}") from error
        return target is not None and target.metadata.uid == incident.target.uid and check.selects(target)
