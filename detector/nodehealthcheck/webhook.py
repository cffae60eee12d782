"""The validating webhook for NodeHealthChecks: optional, and served by leader and standbys.

It answers AdmissionReviews of admission.k8s.io/v1, and refuses what the schema cannot refuse: rules that need
the cluster or the old object. Without the webhook such a check is flagged in its status, and is not acted on.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from detector.watched_kind import WatchedTemplates
from health.kinds.nodehealthcheck.admission_review import (
    CheckOperation,
    Facts,
    Operation,
    TemplateKind,
    doubtful_kinds,
    refusals,
    templates_of_steps,
)
from health.kinds.nodehealthcheck.kind import is_one_of_several
from health.model.references import TemplateReference
from kube.connection import ClusterConnection
from kube.errors import KubernetesError, NotFound, RequestRefused
from kube.resource import Object, Resource
from objects.field_problem import FieldProblem
from objects.frozen import FrozenObject
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.serving import ServingCertificate, serve
from runtime.settings import Settings

PART = "webhook"
INFRASTRUCTURES = Resource("config.openshift.io/v1", "Infrastructure", "infrastructures", namespaced=False)


class AdmissionFacts:
    """Reads what the webhook needs to know of one cluster to admit a NodeHealthCheck.

    A check that the watches let pass is admitted without a request: a stale answer would only flag the check
    later. A refusal is based on a fresh read, so that a template that was annotated a moment ago counts.
    Templates that may be read but not listed are read by the names in the check, as the detector does for
    such checks. Problems that prevent asking the cluster, and so refuse every check, are logged when they
    begin and end.
    """

    def __init__(self, connection: ClusterConnection, watched: WatchedTemplates) -> None:
        self._client = connection.client
        self._discovery = connection.discovery
        self._watched = watched
        # Not the problems of the process: an unready detector gets no reviews, and so would stay unready.
        self._problems = Problems("every NodeHealthCheck is refused")

    async def of(self, change: CheckOperation) -> Facts:
        """Return the facts for the answer to `change`; none for a deletion, which is always admitted.

        Raises:
            KubernetesError: the cluster cannot be read.

        """
        if change.operation is Operation.DELETE:
            return Facts()
        kinds, named = sorted(doubtful_kinds(change.new)), templates_of_steps(change.new)
        try:
            several = await asyncio.gather(*(self._take_several(kind, named) for kind in kinds))
            topology = await self._topology()
        except KubernetesError as error:
            self._problems.report(PART, error.message)
            raise
        self._problems.report(PART, None)
        single = frozenset(kind for kind, take in zip(kinds, several, strict=True) if not take)
        return Facts(single_template_kinds=single, control_plane_topology=topology)

    async def _take_several(self, kind: TemplateKind, named: Collection[TemplateReference]) -> bool:
        watched = self._watched(kind)
        if watched and all(template.supports_multiple for template in watched):
            return True
        try:
            found = await self._read(kind, named)
        except KubernetesError:
            return False  # what cannot be read counts as not supported, as in the NodeHealthCheck operator
        return bool(found) and all(map(is_one_of_several, found))

    async def _read(self, kind: TemplateKind, named: Collection[TemplateReference]) -> Collection[Object]:
        """All templates of a kind, or the named ones if we may not list them."""
        resource = await self._discovery.resource(*kind)
        try:
            return await self._client.list_metadata(resource)
        except RequestRefused:
            of_kind = [template for template in named if (template.api_version, template.kind) == kind]
            return [
                await self._client.get(resource, each.name, each.namespace if resource.namespaced else "")
                for each in of_kind
            ]

    async def _topology(self) -> str | None:
        try:
            infrastructure = await self._client.get(INFRASTRUCTURES, "cluster")
        except NotFound:
            return None  # not an OpenShift cluster
        topology: str = infrastructure.get("status", {}).get("controlPlaneTopology", "")
        return topology


FORBIDDEN = 403
PATH = "/validate-remediation-medik8s-io-v1alpha1-nodehealthcheck"


class AdmissionRequest(FrozenObject):
    """The operation on an object that is to be admitted."""

    uid: str
    operation: Operation
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None

    @property
    def change(self) -> CheckOperation:
        """The request as the value that decides on refusals."""
        return CheckOperation(self.operation, new=self.object or {}, old=self.old_object or {})


class AdmissionReview(FrozenObject):
    """The body of a request to the webhook: an AdmissionReview of admission.k8s.io/v1."""

    request: AdmissionRequest


def answer(request: AdmissionRequest, refusals: tuple[str, ...]) -> dict[str, Any]:
    """The response: allowed, or all refusals as one message, in the form of the NodeHealthCheck operator."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": not refusals}
    if refusals:
        message = refusals[0] if len(refusals) == 1 else f"[{', '.join(refusals)}]"
        response["status"] = {"code": FORBIDDEN, "reason": "Forbidden", "message": message}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


async def review(known: AdmissionFacts, request: web.Request) -> web.Response:
    """Answer an AdmissionReview; 400 for another body, 503 while the cluster cannot be read."""
    try:
        admission_request = AdmissionReview.model_validate_json(await request.read()).request
    except ValidationError as error:
        return web.Response(status=400, text=f"No AdmissionReview of v1: {FieldProblem.of(error)}")
    try:
        facts = await known.of(admission_request.change)
    except KubernetesError as error:
        return web.Response(status=503, text=error.message)
    return web.json_response(answer(admission_request, refusals(admission_request.change, facts)))


@asynccontextmanager
async def serve_webhook(
    settings: Settings, connections: Connections, watched: WatchedTemplates
) -> AsyncIterator[None]:
    """Serve the webhook during the block, if the settings have an address.

    Raises:
        CannotListen: the address is in use, or does not belong to this machine.

    """
    if not settings.webhook_address:
        yield
        return
    directory = Path(settings.webhook_certificate_directory)
    certificate = ServingCertificate(directory, "webhook certificate", connections.problems)
    following = asyncio.create_task(certificate.follow())
    routes = [web.post(PATH, partial(review, AdmissionFacts(connections.management, watched)))]
    try:
        async with serve(
            settings.webhook_address, routes, setting="PARAMEDIC_WEBHOOK_ADDRESS", tls=certificate.context
        ):
            yield
    finally:
        following.cancel()
