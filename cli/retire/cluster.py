"""RetiredCluster: reads all objects of a cluster that may be ours, and removes our own.

Each write carries the uid and the resourceVersion that were read, so an object that changed meanwhile is read
again. An object that cannot be removed does not keep others from being removed.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain

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
from health.cluster.upgrade import SignallingObject, UpgradePhase, gravest, upgrade
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS, why_no_request
from health.model.evidence import LABEL
from health.model.invalid_check import InvalidCheckError
from kube.connection import ClusterConnection
from kube.errors import Conflict, KindUnknown, KubernetesError, NotFound
from kube.lease import LeaseRecord
from kube.resource import CONFIG_MAPS, LEASES, Object, Resource
from objects.clusters import INSTALLATION_LABEL
from objects.group_kind import ServedKind
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.process_names import DETECTOR
from runtime.rights import signals_upgrades_here
from runtime.settings import Settings

CUSTOM_RESOURCES = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", namespaced=True)
_REQUEST = "Remediation"
_TARGETS = {kind.targets.group_kind: kind.targets for kind in CHECK_KINDS.values()}.values()


class RetiredCluster:
    """One cluster, with the rights of the caller; what reads raises KubernetesError."""

    def __init__(self, connection: ClusterConnection, settings: Settings) -> None:
        self._connection = connection
        self.settings = settings
        self._labelled_kinds: tuple[Resource, ...] = ()

    async def read(self) -> Snapshot:
        checks = [(kind, check) for kind in CHECK_KINDS.values() for check in await self._stored(kind)]
        if not self._labelled_kinds:
            self._labelled_kinds = (*await self._request_kinds(checks), LEASES)
        labelled = [await self._stored(kind, INSTALLATION_LABEL) for kind in self._labelled_kinds]
        return Snapshot(
            now=self._connection.server_clock.now(),
            labelled=(*chain.from_iterable(labelled), *await self._stored(PARAMEDIC_STATUSES)),
            pausable=tuple((kind, check) for kind, check in checks if kind.upgrade_pause is not None),
            ordered=(
                *(check for _, check in checks if orders_on(check.body)),
                *[target for kind in _TARGETS for target in await self._stored(kind, where=orders_on)],
            ),
            upgrading=await self._upgrading(),
        )

    async def detectors(self) -> tuple[str, ...]:
        """The detectors that run or will run; one without Temporal neither leads nor stands by."""
        leases = await self._connection.client.list(LEASES, self.settings.namespace)
        # The Leases also show a detector without a Deployment of ours.
        return running_detectors(leases, self._connection.server_clock.now()) or await self.deployed(DETECTOR)

    async def deployed(self, process: str) -> tuple[str, ...]:
        """The Deployment of our manifests that runs this process, if it has Pods or is to have some."""
        namespace = self.settings.namespace
        try:
            found = await self._connection.client.get(DEPLOYMENTS, process, namespace)
        except NotFound:
            return ()
        return (f"of Deployment/{namespace}/{process}",) if is_scaled_up(found) else ()

    async def operator_leases(self) -> list[LeaseRecord]:
        """The leader Leases of operators, in all namespaces."""
        client = self._connection.client
        names = sorted({kind.operator_lease for kind in CHECK_KINDS.values()})
        return [LeaseRecord.read(lease) for name in names for lease in await client.list(LEASES, name=name)]

    async def evidence(self) -> str | None:
        """A sentence about the evidence that exists, and how to delete it; None if there is none."""
        namespace = self.settings.namespace
        delete = f"`kubectl delete configmaps -n {namespace} -l {LABEL}` deletes it"
        try:
            found = await self._connection.client.list_metadata(CONFIG_MAPS, namespace, LABEL)
        except KubernetesError as error:
            return f"what there may be of evidence, which could not be listed: {error.message}; {delete}"
        return (
            f"{len(found)} ConfigMaps with evidence in {namespace}, for people: {delete}" if found else None
        )

    async def dispose(self, of: OwnedObject) -> str | None:
        """Do the action of `of`. Returns the reason of a failure, None if it succeeded."""
        client, resource, stored = self._connection.client, of.stored.resource, of.stored.metadata
        uid, version = stored.uid, stored.resource_version
        try:
            if of.disposal is Disposition.DELETE:
                await client.delete(
                    resource, stored.name, stored.namespace, uid=uid, resource_version=version
                )
            else:
                annotations = dict(of.annotations)
                metadata: Object = {"uid": uid, "resourceVersion": version, "annotations": annotations}
                await client.merge_patch(resource, stored.name, {"metadata": metadata}, stored.namespace)
        except Conflict:
            return f"{of.name} changed meanwhile"
        except KindUnknown as error:
            return error.message
        except NotFound:
            return None
        except KubernetesError as error:
            return f"could not {of.disposal} {of.name}: {error.message}"
        return None

    async def _stored(
        self,
        kind: ServedKind | Resource,
        label: str | None = None,
        where: Callable[[Object], object] = lambda _: True,
    ) -> list[Stored]:
        """The objects of a kind with this label; none of a kind without a CRD."""
        connection = self._connection
        try:
            resource = await connection.discovery.find(kind) if isinstance(kind, ServedKind) else kind
            bodies = await connection.client.list(resource, label_selector=label, where=where)
        except KindUnknown:
            return []
        return [Stored(resource, body) for body in bodies]

    async def _request_kinds(self, checks: Iterable[tuple[CheckKind, Stored]]) -> frozenset[Resource]:
        """The kinds that the checks' templates create, and kinds whose name ends as that of requests."""
        # Each definition has up to 1 MB of schema, and most are of no interest here.
        bodies = await self._connection.client.list(
            CUSTOM_RESOURCES, where=lambda body: str(body["spec"]["names"]["kind"]).endswith(_REQUEST)
        )
        names = {
            (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
            for spec in (body["spec"] for body in bodies)
            for version in spec["versions"]
            if version["served"]
        }
        for kind, check in checks:
            with suppress(InvalidCheckError):
                templates = (step.template for step in kind.parse(check.body).steps)
                names |= {(template.api_version, template.request_kind) for template in templates}
        found = {}
        for api_version, name in sorted(names):
            if not why_no_request(api_version, name):
                with suppress(KindUnknown):
                    resource = await self._connection.discovery.resource(api_version, name)
                    found[resource.group, resource.kind] = resource
        return frozenset(found.values())

    async def _upgrading(self) -> str | None:
        """Why a check must not be unpaused now; None if there is no upgrade."""
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
        is_under_way = now.phase is UpgradePhase.UNDER_WAY
        return f"the cluster is being upgraded, says {now.sign}" if is_under_way else None
