"""The ClusterVersion API of OpenShift, served and removed by a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.client import Client
from kube.errors import AlreadyExists, KubernetesError, NotFound
from kube.resource import Object, Resource
from kube.transport import Transport

CLUSTER_VERSIONS = Resource("config.openshift.io/v1", "ClusterVersion", "clusterversions", namespaced=False)
CRD = "clusterversions.config.openshift.io"
PATIENCE = timedelta(seconds=60)


class OpenShift:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def serve_cluster_versions(self) -> None:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        names = {"plural": "clusterversions", "kind": "ClusterVersion"}
        spec: Object = {
            "group": "config.openshift.io",
            "scope": "Cluster",
            "names": names,
            "versions": [version],
        }
        body = _typed(DEFINITIONS, {"metadata": {"name": CRD}, "spec": spec})
        await self._client.create(DEFINITIONS, body)
        await until(self._is_served, within=PATIENCE, otherwise="the CRD is not served")

    async def set_progressing(self, status: str) -> datetime:
        """Set the Progressing condition as of now; return the time."""
        now = datetime.now(UTC).replace(microsecond=0)
        body = _typed(CLUSTER_VERSIONS, {"metadata": {"name": "version"}, "spec": {}})
        with suppress(AlreadyExists):
            await self._client.create(CLUSTER_VERSIONS, body)
        condition = {
            "type": "Progressing",
            "status": status,
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        patch = {"status": {"conditions": [condition]}}
        await self._client.merge_patch(CLUSTER_VERSIONS, "version", patch, subresource="status")
        return now

    async def remove(self) -> None:
        with suppress(NotFound):
            await self._client.delete(DEFINITIONS, CRD)
        await until(self._is_not_served, within=PATIENCE, otherwise="the CRD is still served")

    async def _is_served(self) -> bool:
        try:
            await self._client.list(CLUSTER_VERSIONS)
        except KubernetesError:
            return False
        return True

    async def _is_not_served(self) -> bool:
        try:
            await self._client.list(CLUSTER_VERSIONS)
        except NotFound:
            return True
        return False


@asynccontextmanager
async def openshift_of(control_plane: ControlPlane) -> AsyncIterator[OpenShift]:
    """A ClusterVersion for the duration of the block; it is removed afterwards with its CRD."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        made = OpenShift(Client(transport, "end-to-end-test"))
        yield made
        await made.remove()


def _typed(resource: Resource, body: Object) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
