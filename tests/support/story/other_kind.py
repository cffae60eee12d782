"""A second kind of remediation request, with CRDs and rights that a test installs."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from devcluster.control_plane import ControlPlane
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.client import Client
from kube.errors import AlreadyExists, KubernetesError, NotFound
from kube.resource import Object, Resource
from kube.transport import Transport

PATIENCE = timedelta(seconds=60)
ON_REQUESTS = ["get", "list", "watch", "create", "update", "patch", "delete"]
"""The rights that remediators grant to the NodeHealthCheck operator."""
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)


class OtherKind:
    """A kind with unique names, so that no test sees the objects of another test."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.group = f"g{uuid.uuid4().hex[:8]}.paramedic.test"
        self.api_version = f"{self.group}/v1"
        self.requests = Resource(self.api_version, "Reset", "resets", namespaced=True)
        self.templates = Resource(self.api_version, "ResetTemplate", "resettemplates", namespaced=True)
        self.template = {
            "apiVersion": self.api_version,
            "kind": "ResetTemplate",
            "name": "reset",
            "namespace": "default",
        }
        self._role = f"ext-{self.group}"

    async def install(self) -> None:
        for resource in (self.requests, self.templates):
            await self._client.create(DEFINITIONS, self._crd(resource))
        template: Object = {
            "apiVersion": self.api_version,
            "kind": "ResetTemplate",
            "metadata": {"name": "reset", "namespace": "default"},
            "spec": {"template": {"spec": {}}},
        }

        async def is_created() -> bool:
            try:
                await self._client.create(self.templates, template, "default")
            except KubernetesError:  # the CRD is not served yet
                return False
            return True

        await until(is_created, within=PATIENCE, otherwise="the CRD is not served")

    async def uninstall(self) -> None:
        """Remove both CRDs with their objects, and wait until neither is served."""
        await self.remove(self.requests, self.templates)

    async def remove(self, *resources: Resource) -> None:
        """Remove these CRDs, if they exist, and wait until none is served."""
        for resource in resources:
            with suppress(NotFound):
                await self._client.delete(DEFINITIONS, f"{resource.plural}.{self.group}")

        async def are_gone() -> bool:
            for resource in resources:
                try:
                    await self._client.list(resource)
                except NotFound:
                    continue
                return False
            return True

        await until(are_gone, within=PATIENCE, otherwise="the CRDs are still served")

    async def serve_requests(self) -> None:
        await self._client.create(DEFINITIONS, self._crd(self.requests))

    async def grant(self, *on_templates: str) -> None:
        """Grant us the rights that a remediator's installation grants.

        `on_templates` are the verbs on templates; without them, all.
        """
        rules = [
            {"apiGroups": [self.group], "resources": ["resets"], "verbs": ON_REQUESTS},
            {"apiGroups": [self.group], "resources": ["resettemplates"], "verbs": on_templates or ["*"]},
        ]
        labels = {"rbac.ext-remediation/aggregate-to-ext-remediation": "true"}
        role: Object = {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": self._role, "labels": labels},
            "rules": rules,
        }
        try:
            await self._client.create(CLUSTER_ROLES, role)
        except AlreadyExists:
            await self._client.merge_patch(CLUSTER_ROLES, self._role, {"rules": rules})

    async def names(self) -> list[str]:
        """The names of the existing requests of this kind."""
        return [request["metadata"]["name"] for request in await self._client.list(self.requests)]

    def _crd(self, resource: Resource) -> Object:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        names = {"plural": resource.plural, "kind": resource.kind}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        return {
            "apiVersion": DEFINITIONS.api_version,
            "kind": DEFINITIONS.kind,
            "metadata": {"name": f"{resource.plural}.{self.group}"},
            "spec": {"group": self.group, "scope": "Namespaced", "names": names, "versions": [version]},
        }


@asynccontextmanager
async def installed_kind(control_plane: ControlPlane) -> AsyncIterator[OtherKind]:
    """A second kind with a template, without rights for us, for the duration of the block."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        kind = OtherKind(Client(transport, "end-to-end-test"))
        await kind.install()
        yield kind
        await kind.uninstall()
