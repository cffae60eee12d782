"""ExaminedCluster: what the questions about a cluster read, each object once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from health.check.health_check import HealthCheck, ParsedCheck
from health.kinds.check_kind import CheckKind
from health.kinds.right import Process
from health.model.references import CheckReference
from health.policy.policy import DEFAULTS, POLICY, StoredPolicy
from health.policy.policy_in_force import NO_OBJECT, PolicyInForce, is_in_shadow
from kube.connection import ClusterConnections
from kube.errors import Forbidden, KindUnknown, KubernetesError, NotFound, none_if_absent
from kube.lease import LeaseRecord
from kube.resource import CONFIG_MAPS, LEASES, Object, Resource
from objects.frozen import FrozenObject
from objects.metadata import ManagedFields
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.settings import Settings

_WHO_AM_I = Resource("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)


class WrittenMetadata(FrozenObject):
    """The metadata of an object, which may be invalid otherwise, with its writers."""

    name: str
    namespace: str = ""
    managed_fields: tuple[ManagedFields, ...] = ()
    annotations: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExaminedCheck:
    """A check of any kind as the API server stores it, which may be invalid, and whether it is in shadow."""

    kind: CheckKind
    body: Object
    metadata: WrittenMetadata
    is_shadow: bool
    parsed: ParsedCheck

    @property
    def valid(self) -> HealthCheck | None:
        return self.parsed.check

    @property
    def status(self) -> Mapping[str, Any]:
        return self.body.get("status") or {}

    @property
    def name(self) -> str:
        """The name in findings, such as "MachineHealthCheck openshift-machine-api/workers"."""
        metadata = self.metadata
        reference = CheckReference(
            kind=self.kind.kind, group=self.kind.group, namespace=metadata.namespace, name=metadata.name
        )
        return str(reference).replace("/", " ", 1)


class ExaminedCluster:
    """One cluster, with the rights of the caller; each method raises KubernetesError."""

    def __init__(
        self,
        connections: ClusterConnections,
        settings: Settings,
        identities: Sequence[str],
        temporal_namespace: str,
    ) -> None:
        """`identities` are those that the given name may mean, the likeliest first."""
        self.connections = connections
        self.connection = connections.management
        self.client = self.connection.client
        self.settings = settings
        self.identities = identities
        self.temporal_namespace = temporal_namespace
        self.now = self.connection.server_clock.now()
        self._policy: PolicyInForce | None = None
        self._stored: dict[str, Sequence[Object]] = {}

    async def policy(self) -> PolicyInForce:
        """The policy as a detector reads it that starts now; raises also ValidationError."""
        if self._policy is None:
            found = await none_if_absent(self.client.get(CONFIG_MAPS, POLICY, self.settings.namespace))
            stored = None if found is None else StoredPolicy.model_validate(found)
            required = replace(NO_OBJECT, is_required=self.settings.requires_policy)
            self._policy = required.after(stored, DEFAULTS)
        return self._policy

    async def stored_checks(self, kind: CheckKind) -> Sequence[Object]:
        """The checks of one kind, also invalid ones; raises KindUnknown if it is not served."""
        if kind.resource_name not in self._stored:
            resource = await self.connection.discovery.first_served(kind)
            self._stored[kind.resource_name] = await self.client.list(resource)
        return self._stored[kind.resource_name]

    async def checks_of(self, kind: CheckKind) -> list[ExaminedCheck]:
        """The checks of one kind; none of a kind that is not served, which is a finding of its own."""
        try:
            stored = await self.stored_checks(kind)
        except KindUnknown:
            return []
        try:
            policy = await self.policy()
        except Forbidden:  # the detector may only watch it; then annotations alone say what is in shadow
            policy = NO_OBJECT
        found = []
        for body in stored:
            metadata = WrittenMetadata.model_validate(body["metadata"])
            check = ExaminedCheck(
                kind=kind,
                body=body,
                metadata=metadata,
                is_shadow=is_in_shadow(metadata.annotations, policy),
                parsed=ParsedCheck.of(kind.parse, body),
            )
            found.append(check)
        return found

    async def checks(self) -> list[ExaminedCheck]:
        return [check for kind in self.settings.check_kinds for check in await self.checks_of(kind)]

    async def readable(self, kind: CheckKind | None = None) -> list[HealthCheck]:
        """The valid checks of a kind, or of all handled kinds."""
        found = await self.checks() if kind is None else await self.checks_of(kind)
        return [one.valid for one in found if one.valid is not None]

    async def lease(self, name: str) -> Object | None:
        """The Lease of that name in our namespace."""
        return await none_if_absent(self.client.get(LEASES, name, self.settings.namespace))

    async def leases_everywhere(self, name: str) -> Sequence[LeaseRecord]:
        """The Leases of that name in all namespaces; none without the right, which our processes lack."""
        try:
            return [LeaseRecord.read(lease) for lease in await self.client.list(LEASES, name=name)]
        except Forbidden:
            return ()

    async def status(self) -> ParamedicStatusDocument:
        """The ParamedicStatus; an empty one before any detector has led."""
        try:
            found = await self.client.get(PARAMEDIC_STATUSES, NAME, self.settings.namespace)
        except NotFound:  # also if the kind is not served
            return ParamedicStatusDocument()
        return ParamedicStatusDocument.read(found)

    async def user(self) -> str:
        """The name of the caller, as the API server knows it."""
        body: Object = {"apiVersion": _WHO_AM_I.api_version, "kind": _WHO_AM_I.kind}
        answer = await self.client.create(_WHO_AM_I, body)
        return str(answer.get("status", {}).get("userInfo", {}).get("username", ""))

    def user_of(self, process: Process) -> str:
        """The user that this process is to the API server."""
        account = self.settings.service_accounts[process]
        return f"system:serviceaccount:{self.settings.namespace}:{account}"

    async def is_one_of_us(self) -> bool:
        """True if the caller is one of our processes, which have only the rights that they need."""
        try:
            return await self.user() in map(self.user_of, Process)
        except KubernetesError:  # an old API server, which another finding reports if it does not answer
            return False
