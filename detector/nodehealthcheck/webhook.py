"""The validating webhook for NodeHealthChecks: optional, and served by leader and standbys.

It answers AdmissionReviews of admission.k8s.io/v1, and refuses what the schema cannot refuse: rules that need
the cluster or the old object. Without the webhook such a check is flagged in its status, and is not acted on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from detector.nodehealthcheck.admission_facts import AdmissionFacts
from detector.watched_kind import WatchedTemplates
from health.kinds.nodehealthcheck.admission_review import CheckOperation, Operation, refusals
from kube.errors import KubernetesError
from objects.frozen import FrozenObject
from runtime.connections import Connections
from runtime.serving import ServingCertificate, serve
from runtime.settings import Settings

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
    webhook = Webhook(AdmissionFacts(connections.management, watched))
    routes = [web.post(PATH, webhook.review)]
    try:
        async with serve(
            settings.webhook_address, routes, setting="PARAMEDIC_WEBHOOK_ADDRESS", tls=certificate.context
        ):
            yield
    finally:
        following.cancel()


class Webhook:
    """The HTTP handler of the webhook, which answers AdmissionReviews."""

    def __init__(self, facts: AdmissionFacts) -> None:
        self._facts = facts

    async def review(self, request: web.Request) -> web.Response:
        """Answer an AdmissionReview; 400 for another body, 503 while the cluster cannot be read."""
        try:
            asked = AdmissionReview.model_validate_json(await request.read()).request
        except ValidationError as error:
            return web.Response(status=400, text=f"No AdmissionReview of v1: {error}")
        try:
            facts = await self._facts.of(asked.change)
        except KubernetesError as error:
            return web.Response(status=503, text=error.message)
        return web.json_response(answer(asked, refusals(asked.change, facts)))
