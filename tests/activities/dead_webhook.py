"""A dead admission webhook of a remediator: every change of the guarded objects fails with 500."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from devcluster.polling import until
from kube.client import Client
from kube.errors import KubernetesError
from kube.resource import Object, Resource
from tests.activities.world import NAMESPACE, REQUESTS
from tests.support.api.ports import free_port

WEBHOOKS = Resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
GUARDED = "tests.paramedic.dev/guarded"
SOON = timedelta(seconds=20)


@asynccontextmanager
async def dead_webhook(client: Client, request: str) -> AsyncIterator[None]:
    """In the block, every change and deletion of this request fails."""
    await client.merge_patch(REQUESTS, request, {"metadata": {"labels": {GUARDED: request}}}, NAMESPACE)
    await client.create(WEBHOOKS, _configuration(request))
    try:
        await until(lambda: _is_dead(client, request), within=SOON, otherwise="the webhook guards nothing")
        yield
    finally:
        await client.delete(WEBHOOKS, request)
        await until(lambda: _is_gone(client, request), within=SOON, otherwise="the webhook still guards")


async def _is_dead(client: Client, request: str) -> bool:
    try:
        await client.merge_patch(REQUESTS, request, {"metadata": {"labels": {"tried": ""}}}, NAMESPACE)
    except KubernetesError as error:
        return "failed calling webhook" in error.message
    return False


async def _is_gone(client: Client, request: str) -> bool:
    return not await _is_dead(client, request)


def _configuration(request: str) -> Object:
    rule = {
        "apiGroups": ["demo.paramedic.dev"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE", "DELETE"],
        "resources": [REQUESTS.plural],
    }
    webhook = {
        "name": "dead.tests.paramedic.dev",
        "rules": [rule],
        "objectSelector": {"matchLabels": {GUARDED: request}},
        "clientConfig": {"url": f"https://127.0.0.1:{free_port()}"},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": WEBHOOKS.api_version,
        "kind": WEBHOOKS.kind,
        "metadata": {"name": request},
        "webhooks": [webhook],
    }
