"""Examines one cluster, part by part, and finds the identity for a name that a person gives.

A part that fails, or that we may not read, becomes a finding and does not stop the others. They run while the
status of checks is watched. A person names a cluster by its configured name (`prod`) or by its identity
(`prod-1a2b3c4d`).
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

from pydantic import ValidationError

from activities.live_objects import LiveObjects
from activities.registry import readers
from activities.step_result import StepHeld
from cli.doctor.finding import Finding, note, problem, warning
from cli.doctor.needed_rights import NeededRights, requests_of
from cli.doctor.of_checks import STORED_CHECKS, StoredCheck, check_findings, read, shadow_findings
from cli.doctor.of_clocks import (
    detector_clock_findings,
    leader_findings,
    operator_findings,
    other_leader_findings,
    own_clock_findings,
)
from cli.doctor.of_operator_policies import (
    PoliciesInForce,
    absent_account,
    keeps_off,
    kept_off,
    policy_findings,
)
from cli.doctor.of_own_status import not_served, own_status_findings
from cli.doctor.of_policy import missing_policy, outage_guard_findings
from cli.doctor.of_temporal_place import TemporalPlace
from cli.doctor.of_upgrade_pause import are_checks_paused, bound_findings
from cli.doctor.of_workload_clusters import KubeconfigSecret, workload_clusters, workload_findings
from cli.doctor.remediator_examination import RemediatorExamination
from cli.doctor.rights import Rights
from cli.doctor.status_watch import StatusWatch
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import LeaseNamespace
from health.kinds.check_kind import CheckKind
from health.model.invalid_check import InvalidCheckError
from health.policy.policy import DEFAULTS
from health.policy.policy_document import POLICY, StoredPolicy
from health.policy.policy_in_force import NO_OBJECT
from health.policy.shadow import is_in_shadow
from kube.absence import none_if_absent
from kube.errors import Forbidden, KindUnknown, KubernetesError, NotFound
from kube.lease import LeaseRecord, holder_is_valid
from kube.listing import Paging, list_all
from kube.resource import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CONFIG_MAPS,
    LEASES,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    Object,
)
from kube.workload_connections import ClusterConnections
from objects.timestamps import stamp
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.process_names import DETECTOR, LEADER_LEASE, WORKER
from runtime.settings import Settings

OURS = frozenset({DETECTOR, WORKER})
"""The field managers of our processes."""


def identities(configured: str, identity: str) -> tuple[str, ...]:
    """The possible identities of the cluster that a person calls `configured`, the likeliest first.

    `identity` is that of processes with this configured name. If `configured` already ends with the same uid,
    it is itself an identity, unless a user has configured an identity as the name.
    """
    end = identity.removeprefix(configured)
    return (configured, identity) if configured.endswith(end) else (identity,)


def configured_name(identity: str) -> str:
    """The name that processes of this identity are configured with."""
    return identity.rpartition("-")[0]


@dataclass(frozen=True)
class _Stored:
    kind: CheckKind
    check: StoredCheck

    @property
    def body(self) -> Object:
        return self.check.body


class ClusterExamination:
    """Examines one cluster, once, with the rights of the caller."""

    def __init__(
        self, connections: ClusterConnections, settings: Settings, watched: timedelta, temporal_host: str = ""
    ) -> None:
        """`temporal_host` is the host of Temporal; "" skips the question where it runs."""
        self._temporal_host = temporal_host
        self._connections = connections
        self._connection = connections.management
        self._settings = settings
        self._watched = watched
        self._now = self._connection.server_clock.now()
        self._checks: list[_Stored] = []
        self._watches: list[StatusWatch] = []
        self._workload_clusters: list[KubeconfigSecret] = []
        self._policy = NO_OBJECT
        self._admission: PoliciesInForce | None = PoliciesInForce()
        """None: we run as a detector or worker, which may not read admission policies."""
        self._rights = Rights(self._connection.client, settings.namespace, settings.service_accounts)
        self._is_one_of_us = False

    async def findings(self) -> list[Finding]:
        """All findings; writers of the status of checks are watched for `watched`."""
        found = await self._findings("the identity of the caller", self._examine_ourselves())
        found += await self._findings("the policy", self._examine_policy())
        found += await self._findings("admission policies", self._read_admission_policies())
        for kind in self._settings.check_kinds:
            found += await self._findings(f"{kind.kind}s", self._examine_kind(kind))
            found += await self._findings(
                f"the clusters of the Nodes of {kind.kind}s", self._find_workload_clusters(kind)
            )
        concurrently = await asyncio.gather(
            self._examine_rest(),
            workload_findings(self._connections, self._workload_clusters),
            *map(self._examine_writers, self._watches),
        )
        own_clock = own_clock_findings(self._connection.server_clock.skew())
        return [*found, *chain.from_iterable(concurrently), *own_clock]

    async def _findings(self, what: str, examination: Awaitable[list[Finding]]) -> list[Finding]:
        """The findings of one part; a failed request becomes a finding, too."""
        try:
            return await examination
        except KubernetesError as error:
            return [self._not_examined(what, error)]

    def _not_examined(self, what: str, error: KubernetesError) -> Finding:
        sentence = f"cannot look at {what}: {error.message}"
        if self._is_one_of_us and isinstance(error, Forbidden):
            advice = (
                "an administrator can see it; the missing rights of this process are findings of their own"
            )
            return note("CannotLook", sentence, advice)
        return warning("CannotLook", sentence, "make it possible, or run this as a user who may")

    async def _examine_ourselves(self) -> list[Finding]:
        self._is_one_of_us = await self._rights.are_of_one_of_us()
        return []

    async def _examine_rest(self) -> list[Finding]:
        found: list[Finding] = []
        for kind in self._settings.check_kinds:
            found += await self._findings(f"the Lease of the {kind.operator}", self._examine_operator(kind))
        found += await self._findings("the global stop", self._examine_stop())
        found += await self._findings(f"the Lease {LEADER_LEASE}", self._examine_leader())
        found += await self._findings("the ParamedicStatus", self._examine_own_status())
        found += await self._findings("other detectors", self._examine_other_leaders())
        found += await self._findings("the checks that upgrades pause", self._examine_upgrade_pause())
        found += await self._findings("rights", self._examine_rights())
        found += await self._findings("remediators", self._examine_remediators())
        found += await self._findings("where Temporal runs", self._examine_temporal_place())
        return found

    async def _examine_kind(self, kind: CheckKind) -> list[Finding]:
        try:
            path = (await self._connection.discovery.first_served(kind)).path()
            listed = await list_all(self._connection.transport, path, STORED_CHECKS, (), Paging())
            await self._connection.discovery.find(kind.targets)
        except KindUnknown:
            what = (
                f"{kind.resource_name} is handled, and the API server does not serve it, or not its targets"
            )
            return [problem("KindNotServed", what, "install the CRDs, or leave it out of --check-kinds")]
        self._checks += [_Stored(kind, check) for check in listed.records]
        self._watches.append(
            StatusWatch(kind, path, listed, ours=OURS, now=self._now, is_left_to_others=self._is_in_shadow)
        )
        of_checks = [finding for check in listed.records for finding in check_findings(kind, check.body)]
        return [*of_checks, *shadow_findings(kind, filter(self._is_in_shadow, listed.records))]

    def _is_in_shadow(self, check: StoredCheck) -> bool:
        return is_in_shadow(check.metadata.annotations, self._policy)

    async def _find_workload_clusters(self, kind: CheckKind) -> list[Finding]:
        if kind.kubeconfig is None:
            return []
        checks = self._readable(kind)
        live = LiveObjects(self._connections, readers())
        contexts = await asyncio.gather(*(_context_of(live, check) for check in checks))
        self._workload_clusters += workload_clusters(kind, zip(checks, contexts, strict=True))
        return []

    async def _examine_writers(self, watch: StatusWatch) -> list[Finding]:
        missed: list[Finding] = []
        try:
            await watch.follow(self._connection.transport, self._watched)
        except KubernetesError as error:
            missed.append(self._not_examined(f"the writers of the status of {watch.kind.kind}s", error))
        is_kept_off = None if self._admission is None else keeps_off(watch.kind, self._admission)
        return [*missed, *watch.findings(is_kept_off=is_kept_off)]

    async def _examine_operator(self, kind: CheckKind) -> list[Finding]:
        shadows = [self._is_in_shadow(check.check) for check in self._checks if check.kind is kind]
        if shadows and all(shadows):
            return []  # in shadow, the operator is expected to run
        leases = await self._leases_named(kind.operator_lease)
        admission = self._admission or PoliciesInForce()
        if not keeps_off(kind, admission):
            incomplete = policy_findings(kind, admission, ())
            return [*operator_findings(kind, leases, self._now), *incomplete]
        beside = [kept_off(kind, lease) for lease in leases if holder_is_valid(lease, self._now)]
        return [*beside, *await self._examine_operator_policies(kind, admission)]

    async def _read_admission_policies(self) -> list[Finding]:
        """Read them unless no handled kind depends on admission policies."""
        if not any(kind.operator_policies for kind in self._settings.check_kinds):
            return []
        client = self._connection.client
        try:
            policies = await client.list(ADMISSION_POLICIES)
            self._admission = PoliciesInForce.of(policies, await client.list(ADMISSION_POLICY_BINDINGS))
        except Forbidden:
            self._admission = None if self._is_one_of_us else self._admission
            raise
        return []

    async def _examine_operator_policies(self, kind: CheckKind, admission: PoliciesInForce) -> list[Finding]:
        requests = await requests_of(self._connection.discovery, self._readable(kind))
        found = list(policy_findings(kind, admission, requests))
        if kind.operator_policies is None:
            return found
        for namespace, name in sorted(admission.service_accounts(kind.operator_policies)):
            try:
                await self._connection.client.get(SERVICE_ACCOUNTS, name, namespace)
            except NotFound:
                found.append(absent_account(kind, namespace, name))
        return found

    async def _examine_stop(self) -> list[Finding]:
        name = self._settings.lease_namespace
        try:
            found = LeaseNamespace.model_validate(await self._connection.client.get(NAMESPACES, name))
        except NotFound:
            what = f"the namespace {name} for the Leases of targets is missing, so no remediation begins"
            return [problem("LeaseNamespaceMissing", what, f"`kubectl create namespace {name}`")]
        if found.stop is None:
            return []
        since = f", since {stamp(found.stopped_since)}" if found.stopped_since else ""
        return [warning("Stopped", f"{found.stop.words}{since}", "`paramedic start` lifts it")]

    async def _examine_policy(self) -> list[Finding]:
        settings = self._settings
        found = await none_if_absent(self._connection.client.get(CONFIG_MAPS, POLICY, settings.namespace))
        stored = None if found is None else StoredPolicy.model_validate(found)
        before = replace(NO_OBJECT, is_required=settings.requires_policy)
        self._policy = before.after(stored, DEFAULTS)
        if self._policy.is_missing:
            return [missing_policy(settings.namespace)]
        if self._policy.rejection:
            what = f"{stored} cannot be taken: {self._policy.rejection}"
            advice = "correct it; the last valid one is in force, and after a restart nothing new is done"
            return [problem("PolicyRefused", what, advice)]
        return list(outage_guard_findings(self._policy.policy))

    async def _examine_leader(self) -> list[Finding]:
        namespace = self._settings.namespace
        try:
            found = await self._connection.client.get(LEASES, LEADER_LEASE, namespace)
        except NotFound:
            found = None
        name = f"{namespace}/{LEADER_LEASE}"
        if found is None:
            return leader_findings(name, None, self._now)
        leader = leader_findings(name, LeaseRecord.read(found), self._now)
        return [*leader, *detector_clock_findings(found)]

    async def _examine_own_status(self) -> list[Finding]:
        client, namespace = self._connection.client, self._settings.namespace
        try:
            found = await client.get(PARAMEDIC_STATUSES, NAME, namespace)
        except KindUnknown:
            return [not_served()]
        except NotFound:  # no detector has led yet; the finding about its Lease says so
            return []
        return list(own_status_findings(ParamedicStatusDocument.read(found), self._now))

    async def _examine_other_leaders(self) -> list[Finding]:
        leases = await self._leases_named(LEADER_LEASE)
        return list(other_leader_findings(LEADER_LEASE, self._settings.namespace, leases, self._now))

    async def _examine_temporal_place(self) -> list[Finding]:
        if not self._temporal_host:
            return []
        checks = [(kind, check) for kind in self._settings.check_kinds for check in self._readable(kind)]
        live = LiveObjects(self._connections, readers())
        place = TemporalPlace(self._connection, live, self._settings.namespace)
        return await place.findings(self._temporal_host, checks)

    async def _examine_upgrade_pause(self) -> list[Finding]:
        if not await are_checks_paused(self._settings, self._connection.discovery):
            return []
        return await bound_findings(self._connection, self._is_in_shadow)

    async def _examine_rights(self) -> list[Finding]:
        needed = NeededRights(self._settings, self._connection.discovery, self._all_readable())
        of_clusters = [need for cluster in self._workload_clusters for need in cluster.needs]
        return await self._rights.findings([*await needed.all(), *of_clusters])

    async def _examine_remediators(self) -> list[Finding]:
        examination = RemediatorExamination(self._connection, self._rights, self._now)
        return await examination.findings(self._all_readable())

    def _all_readable(self) -> list[HealthCheck]:
        return [check for kind in self._settings.check_kinds for check in self._readable(kind)]

    def _readable(self, kind: CheckKind) -> list[HealthCheck]:
        """The checks of this kind that can be parsed."""
        checks = [read(kind, check.body) for check in self._checks if check.kind is kind]
        return [check for check in checks if not isinstance(check, InvalidCheckError)]

    async def _leases_named(self, name: str) -> Sequence[LeaseRecord]:
        """The Leases of that name in all namespaces; none without the right, which our processes lack."""
        try:
            return [LeaseRecord.read(one) for one in await self._connection.client.list(LEASES, name=name)]
        except Forbidden:
            return ()


async def _context_of(live: LiveObjects, check: HealthCheck) -> ClusterContext:
    try:
        return await live.context(check)
    except (ValidationError, StepHeld):  # StepHeld: an object that it names is missing, such as its Cluster
        return ClusterContext()  # the status of the check reports the hold
