"""RetiredCluster: reads all objects of a cluster that may be ours, and removes our own.

Each write carries the uid and the resourceVersion that were read, so an object that changed meanwhile is read
again. An object that cannot be removed does not keep others from being removed.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from pydantic import ValidationError

from cli.retire.owned_objects import (
    Disposition,
    OwnedObject,
    Snapshot,
    Stored,
    is_scaled_up,
    orders_on,
    running_detectors,
)
from cli.shared.installations import installations
from health.cluster.upgrade import SignallingObject, UpgradePhase, gravest, upgrade
from health.kinds.registry import CHECK_KINDS
from health.model.evidence import LABEL
from kube.connection import ClusterConnection
from kube.errors import Conflict, KindUnknown, KubernetesError, NotFound
from kube.lease import LeaseRecord
from kube.resource import CONFIG_MAPS, LEASES, Object, Resource
from objects.clusters import INSTALLATION_LABEL
from objects.group_kind import ServedKind
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.process_names import DETECTOR, WORKER
from runtime.rights import signals_upgrades_here
from runtime.settings import Settings

CUSTOM_RESOURCES = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", namespaced=True)
_TEMPLATE = "Template"
_TARGETS = {kind.targets.group_kind: kind.targets for kind in CHECK_KINDS.values()}.values()


def _every(_: Object) -> bool:
    return True


class RetiredCluster:
    """One cluster, with the rights of the caller."""

    def __init__(self, connection: ClusterConnection, settings: Settings) -> None:
        self._connection = connection
        self.settings = settings
        self._labelled_kinds: tuple[Resource, ...] = ()

    def now(self) -> datetime:
        return self._connection.server_clock.now()

    async def read(self) -> Snapshot:
        """The present state of the cluster.

        Raises:
            KubernetesError: a part of it cannot be read.

        """
        checks = [(kind, check) for kind in CHECK_KINDS.values() for check in await self._served(kind)]
        if not self._labelled_kinds:
            self._labelled_kinds = (*await self._request_kinds(), LEASES, PARAMEDIC_STATUSES)
        return Snapshot(
            now=self.now(),
            labelled=tuple([found for kind in self._labelled_kinds for found in await self._labelled(kind)]),
            installed=await installations(self._connection.client),
            pausable=tuple((kind, check) for kind, check in checks if kind.upgrade_pause is not None),
            ordered=(
                *(check for _, check in checks if orders_on(check.body)),
                *[target for kind in _TARGETS for target in await self._served(kind, orders_on)],
            ),
            upgrading=await self._upgrading(),
        )

    async def detectors(self) -> tuple[str, ...]:
        """The detectors that run or will run; one without Temporal neither leads nor stands by.

        Raises:
            KubernetesError: this cannot be found out.

        """
        found = running_detectors(await self._leases(self.settings.namespace), self.now())
        return found or await self._deployed(DETECTOR)

    async def workers(self) -> tuple[str, ...]:
        """The workers that run or will run, as far as Kubernetes shows them.

        Raises:
            KubernetesError: this cannot be found out.

        """
        return await self._deployed(WORKER)

    async def _deployed(self, process: str) -> tuple[str, ...]:
        """Finds a Deployment of our manifests; a detector deployed otherwise is known by its Leases."""
        namespace = self.settings.namespace
        try:
            found = await self._connection.client.get(DEPLOYMENTS, process, namespace)
        except NotFound:
            return ()
        return (f"of Deployment/{namespace}/{process}",) if is_scaled_up(found) else ()

    async def operator_leases(self) -> list[LeaseRecord]:
        """The leader Leases of operators, in all namespaces.

        Raises:
            KubernetesError: this cannot be found out.

        """
        client = self._connection.client
        names = sorted({kind.operator_lease for kind in CHECK_KINDS.values()})
        return [LeaseRecord.read(lease) for name in names for lease in await client.list(LEASES, name=name)]

    async def evidence(self) -> str:
        """A sentence about the evidence that exists, and how to delete it; "" if there is none."""
        namespace = self.settings.namespace
        delete = f"`kubectl delete configmaps -n {namespace} -l {LABEL}` deletes it"
        try:
            found = await self._connection.client.list_metadata(CONFIG_MAPS, namespace, LABEL)
        except KubernetesError as error:
            return f"what there may be of evidence, which could not be listed: {error.message}; {delete}"
        return f"{len(found)} ConfigMaps with evidence in {namespace}, for people: {delete}" if found else ""

    async def dispose(self, of: OwnedObject) -> str:
        """Do the action of `of`. Returns the reason of a failure, "" if it succeeded."""
        try:
            await (self._delete(of) if of.disposal is Disposition.DELETE else self._patch(of))
        except Conflict:
            return f"{of.name} changed meanwhile"
        except KindUnknown as error:
            return error.message
        except NotFound:
            return ""
        except KubernetesError as error:
            return f"could not {of.disposal} {of.name}: {error.message}"
        return ""

    async def _delete(self, of: OwnedObject) -> None:
        stored = of.stored.metadata
        await self._connection.client.delete(
            of.stored.resource,
            stored.name,
            stored.namespace,
            uid=stored.uid,
            resource_version=stored.resource_version,
        )

    async def _patch(self, of: OwnedObject) -> None:
        stored = of.stored.metadata
        metadata: Object = {
            "uid": stored.uid,
            "resourceVersion": stored.resource_version,
            "annotations": dict(of.annotations),
        }
        body: Object = {"metadata": metadata}
        await self._connection.client.merge_patch(of.stored.resource, stored.name, body, stored.namespace)

    async def _leases(self, namespace: str) -> list[Object]:
        return await self._connection.client.list(LEASES, namespace)

    async def _labelled(self, resource: Resource) -> list[Stored]:
        try:
            bodies = await self._connection.client.list(resource, label_selector=INSTALLATION_LABEL)
        except KindUnknown:  # its CRD was deleted, with its objects
            return []
        return [Stored(resource, body) for body in bodies]

    async def _served(self, kind: ServedKind, where: Callable[[Object], object] = _every) -> list[Stored]:
        try:
            resource = await self._connection.discovery.find(kind)
            bodies = await self._connection.client.list(resource, where=where)
        except KindUnknown:
            return []
        return [Stored(resource, body) for body in bodies]

    async def _request_kinds(self) -> list[Resource]:
        """The kinds of requests: those of templates, without the end of the name."""
        # Each definition has up to 1 MB of schema, and most are of no interest here.
        bodies = await self._connection.client.list(CUSTOM_RESOURCES, where=_is_of_templates)
        found = []
        for definition in (body["spec"] for body in bodies):
            version = next(version["name"] for version in definition["versions"] if version["served"])
            kind = definition["names"]["kind"].removesuffix(_TEMPLATE)
            with suppress(KindUnknown):
                found.append(
                    await self._connection.discovery.resource(f"{definition['group']}/{version}", kind)
                )
        return found

    async def _upgrading(self) -> str:
        """Why a check must not be unpaused now; "" if there is no upgrade."""
        upgrades = []
        for signal in signals_upgrades_here(self.settings):
            with suppress(KindUnknown):
                resource = await self._connection.discovery.resource(signal.api_version, signal.kind)
                bodies = await self._connection.client.list(resource)
                try:
                    objects = [SignallingObject.model_validate(body) for body in bodies]
                    upgrades.append(upgrade(signal, objects))
                except ValidationError:
                    upgrades.append(upgrade(signal, (), unreadable=["its conditions are not of that form"]))
        now = gravest(upgrades)
        if now.phase is UpgradePhase.UNKNOWN:
            return f"it is unknown whether the cluster is being upgraded: {now.why_unknown}"
        return (
            f"the cluster is being upgraded, says {now.sign}" if now.phase is UpgradePhase.UNDER_WAY else ""
        )


def _is_of_templates(definition: Object) -> bool:
    return str(definition["spec"]["names"]["kind"]).endswith(_TEMPLATE)
