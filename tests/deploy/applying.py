"""The errors and warnings of an API server for objects, as `kubectl apply --server-side` shows them.

kubectl would read the names of all fields again for each command, which takes longer than applying all
objects.
"""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import aiohttp

from devcluster.manifests import AS_KUBECTL, SERVER_SIDE
from kube.discovery import Discovery
from kube.resource import Object, Resource
from kube.transport import Transport

CONFIGURATIONS = Resource(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
NOTHING: Mapping[str, str] = MappingProxyType({})


class ApiServer:
    def __init__(self, session: aiohttp.ClientSession, discovery: Discovery) -> None:
        self._session = session
        self._discovery = discovery

    async def apply(self, body: Object, *, is_tried: bool = False) -> str:
        """The error or the warnings for the object; "" if there are none.

        No field may be unknown. With `is_tried`, the object is not stored.
        """
        resource = await self._discovery.resource(body["apiVersion"], body["kind"])
        path = resource.path(body["metadata"].get("namespace", "default"), body["metadata"]["name"])
        query = AS_KUBECTL | ({"dryRun": "All"} if is_tried else {})
        return await self.patch(path, body, SERVER_SIDE, query=query)

    async def patch(
        self,
        path: str,
        body: Object,
        content_type: str,
        *,
        query: Mapping[str, str] = NOTHING,
        headers: Mapping[str, str] = NOTHING,
    ) -> str:
        """The error or the warnings, as in `apply`."""
        asked = {"Content-Type": content_type, **headers}
        async with self._session.patch(path, params=query, data=json.dumps(body), headers=asked) as answer:
            if not answer.ok:
                return str((await answer.json())["message"])
            return "\n".join(answer.headers.getall("Warning", ()))


@asynccontextmanager
async def api_server(kubeconfig: Path) -> AsyncIterator[ApiServer]:
    """Reached as whoever the kubeconfig is of."""
    server, tls, token = _way_to(kubeconfig)
    connections, who = aiohttp.TCPConnector(ssl=tls), {"Authorization": f"Bearer {token}"}
    async with (
        await Transport.connect(str(kubeconfig)) as transport,
        aiohttp.ClientSession(server, connector=connections, headers=who) as session,
    ):
        yield ApiServer(session, Discovery(transport))


def _way_to(kubeconfig: Path) -> tuple[str, ssl.SSLContext, str]:
    content = json.loads(kubeconfig.read_text())
    (cluster,), (user,) = content["clusters"], content["users"]
    tls = ssl.create_default_context(cafile=cluster["cluster"]["certificate-authority"])
    return cluster["cluster"]["server"], tls, user["user"]["token"]
