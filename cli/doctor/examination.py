"""Examines the cluster, part by part, and Temporal concurrently.

A part of the cluster that fails, or that we may not read, becomes a finding and does not stop the others. The
parts run while the status of checks is watched.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from itertools import chain

from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from activities.live_objects import LiveObjects
from activities.registry import readers
from cli.doctor import of_installation, of_operators
from cli.doctor.finding import Examined, Finding, FindingSeverity, in_mid_sentence, note, problem, warning
from cli.doctor.of_checks import (
    STORED_CHECKS,
    StatusWatch,
    StoredCheck,
    check_findings,
    read,
    shadow_findings,
)
from cli.doctor.of_coverage import coverage_findings, coverage_of
from cli.doctor.of_temporal_place import TemporalPlace
from cli.doctor.of_worker_versions import NO_WORKER
from cli.doctor.of_workload_clusters import KubeconfigSecret, find_workload_clusters, workload_findings
from cli.doctor.remediator_examination import RemediatorExamination
from cli.doctor.rights import NeededRights, Rights, requests_of
from cli.doctor.temporal_examination import temporal_findings
from cli.shared.connection import silent_core
from cli.shared.errors import UsageError
from cli.shared.installations import find_installation
from cli.shared.parameters import identities
from detector.inspection.inspection import UnreadClusterError, reading
from health.check.health_check import HealthCheck
from health.kinds.check_kind import CheckKind
from health.model.invalid_check import InvalidCheckError
from health.policy.policy import DEFAULTS
from health.policy.policy_in_force import NO_OBJECT
from health.policy.shadow import is_in_shadow
from kube.client import Client
from kube.connection import ClusterConnection
from kube.errors import Forbidden, KindUnknown, KubernetesError
from kube.lease import holder_is_valid
from kube.listing import Paging, list_all
from kube.resource import LEASES, NODES
from kube.transport import Transport
from kube.workload_connections import ClusterConnections, WorkloadConnections
from objects.group_kind import GroupKind
from runtime.address import Address
from runtime.cluster import read_cluster_identity
from runtime.connections import Connections
from runtime.problems import Problems
from runtime.process_names import DETECTOR, LEADER_LEASE, WORKER
from runtime.settings import CLUSTER_VARIABLE, Settings
from runtime.temporal import temporal_namespace, temporal_settings
from runtime.temporal_link import TemporalLink


async def examine(settings: Settings, environment: Mapping[str, str], watched: timedelta) -> Examined:
    """All findings; writers of the status of checks are watched for `watched`.

    If the environment does not name the cluster, the settings of the only installation in it are added.

    Raises:
        SettingsError: the Temporal configuration in the environment is invalid.
        UsageError: the environment does not name the cluster, and not exactly one installation does.

    """
    cluster, found = await _examine_both(settings, environment, watched)
    ordered = sorted(found, key=lambda finding: list(FindingSeverity).index(finding.severity))
    return Examined(cluster=cluster, findings=tuple(ordered))


async def _examine_both(
    settings: Settings, environment: Mapping[str, str], watched: timedelta
) -> tuple[str | None, list[Finding]]:
    host = Address.parse(temporal_settings(environment)["target_host"]).host
    try:
        async with await Transport.connect() as transport:
            connection = ClusterConnection.over(transport)
            if CLUSTER_VARIABLE not in environment:
                settings = await _installed_settings(connection.client, environment)
            identity = await read_cluster_identity(connection.client, settings.cluster)
            expected = identities(settings.cluster, identity)
            limit = await _back_off_limit(connection, settings)
            async with WorkloadConnections(connection.client) as workload_clusters:
                connections = ClusterConnections(connection, workload_clusters)
                of_cluster, of_temporal = await asyncio.gather(
                    ClusterExamination(connections, settings, watched, host).findings(),
                    temporal_findings(environment, expected, limit),
                )
                other = await of_installation.other_installation_findings(
                    connection.client, expected, settings, temporal_namespace(environment)
                )
            return expected[0], [*other, *of_cluster, *_without_the_worker_of_another(of_temporal, other)]
    except KubernetesError as error:
        what = f"the cluster cannot be looked at, because {in_mid_sentence(error.message)}"
        unreachable = problem("KubernetesUnreachable", what, "correct KUBECONFIG, or the API server")
        return None, [unreachable, *await temporal_findings(environment, (), DEFAULTS.back_off_limit)]


def _without_the_worker_of_another(found: list[Finding], other: Sequence[Finding]) -> list[Finding]:
    """The findings about Temporal; a wrong name of the cluster alone explains a missing worker."""
    return [finding for finding in found if not other or finding.reason != NO_WORKER]


async def _installed_settings(client: Client, environment: Mapping[str, str]) -> Settings:
    found = await find_installation(client, "")
    if found is None:
        why = "no installation was found in the cluster"
        raise UsageError(f"{CLUSTER_VARIABLE}: must be set, or give --cluster: {why}")
    return Settings.from_environment({**environment, **found.environment})


async def _back_off_limit(connection: ClusterConnection, settings: Settings) -> timedelta:
    """The limit of the policy; the default if the policy cannot be read (another finding)."""
    try:
        return (await of_installation.read_policy(connection.client, settings)).policy.back_off_limit
    except (KubernetesError, ValidationError):
        return DEFAULTS.back_off_limit


_MAKE_IT_POSSIBLE = "make it possible, or run this as a user who may"
OURS = frozenset({DETECTOR, WORKER})
"""The field managers of our processes."""


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
        self._checks: dict[GroupKind, Sequence[StoredCheck]] = {}
        self._watches: list[StatusWatch] = []
        self._workload_clusters: list[KubeconfigSecret] = []
        self._policy = NO_OBJECT
        self._admission: of_operators.PoliciesInForce | None = of_operators.PoliciesInForce()
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
            self._findings("the targets of checks", self._examine_coverage()),
            workload_findings(self._connections, self._workload_clusters),
            *map(self._examine_writers, self._watches),
        )
        own_clock = of_installation.own_clock_findings(self._connection.server_clock.skew())
        return [*found, *chain.from_iterable(concurrently), *own_clock]

    async def _findings(self, part: str, examination: Awaitable[list[Finding]]) -> list[Finding]:
        """The findings of one part; a failed request becomes a finding, too."""
        try:
            return await examination
        except KubernetesError as error:
            return [self._not_examined(part, error)]

    def _not_examined(self, part: str, error: KubernetesError) -> Finding:
        sentence = f"cannot look at {part}: {in_mid_sentence(error.message)}"
        if self._is_one_of_us and isinstance(error, Forbidden):
            advice = (
                "an administrator can see it; the missing rights of this process are findings of their own"
            )
            return note("CannotLook", sentence, advice)
        return warning("CannotLook", sentence, _MAKE_IT_POSSIBLE)

    async def _examine_ourselves(self) -> list[Finding]:
        self._is_one_of_us = await self._rights.are_of_one_of_us()
        return []

    async def _examine_coverage(self) -> list[Finding]:
        """Ask what the checks do here, by the state of a detector with the rights of the caller."""
        logging.getLogger().addHandler(logging.NullHandler())  # findings name the problems; no log is printed
        # A detector waits for rights on these two kinds, and a caller without them need not.
        for path in (NODES.path(), LEASES.path(self._settings.lease_namespace)):
            await self._connection.transport.request("GET", path, query=(("limit", "1"),))
        problems = Problems()
        connections = Connections(
            management=self._connection,
            workload_clusters=self._connections.workload_clusters,
            cluster=self._settings.cluster,
            temporal=TemporalLink("doctor", problems, silent_core(), environment={}),
            problems=problems,
            metrics=CollectorRegistry(),
        )
        try:
            async with reading(self._settings, connections) as inspection:
                return coverage_findings(await coverage_of(inspection))
        except UnreadClusterError as error:
            return [
                warning("CannotLook", f"cannot look at the targets of checks: {error}", _MAKE_IT_POSSIBLE)
            ]

    async def _examine_rest(self) -> list[Finding]:
        client, settings = self._connection.client, self._settings
        found: list[Finding] = []
        for kind in settings.check_kinds:
            found += await self._findings(f"the Lease of the {kind.operator}", self._examine_operator(kind))
        found += await self._findings(
            "the global stop", of_installation.stop_findings(client, settings.lease_namespace)
        )
        found += await self._findings(
            f"the Lease {LEADER_LEASE}",
            of_installation.detector_findings(client, settings.namespace, self._now),
        )
        found += await self._findings(
            "the ParamedicStatus", of_installation.status_findings(client, settings.namespace, self._now)
        )
        found += await self._findings(
            "other detectors", of_installation.other_detector_findings(client, settings.namespace, self._now)
        )
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
        self._checks[kind.group_kind] = listed.records
        self._watches.append(
            StatusWatch(kind, path, listed, ours=OURS, now=self._now, is_left_to_others=self._is_in_shadow)
        )
        of_checks = [finding for check in listed.records for finding in check_findings(kind, check.body)]
        return [*of_checks, *shadow_findings(kind, filter(self._is_in_shadow, listed.records))]

    def _is_in_shadow(self, check: StoredCheck) -> bool:
        return is_in_shadow(check.metadata.annotations, self._policy)

    async def _find_workload_clusters(self, kind: CheckKind) -> list[Finding]:
        self._workload_clusters += await find_workload_clusters(self._connections, kind, self._readable(kind))
        return []

    async def _examine_writers(self, watch: StatusWatch) -> list[Finding]:
        missed: list[Finding] = []
        try:
            await watch.follow(self._connection.transport, self._watched)
        except KubernetesError as error:
            missed.append(self._not_examined(f"the writers of the status of {watch.kind.kind}s", error))
        is_kept_off = None if self._admission is None else of_operators.keeps_off(watch.kind, self._admission)
        return [*missed, *watch.findings(is_kept_off=is_kept_off)]

    async def _examine_operator(self, kind: CheckKind) -> list[Finding]:
        checks = self._checks.get(kind.group_kind)
        if checks and all(map(self._is_in_shadow, checks)):
            return []  # in shadow, the operator is expected to run
        leases = await of_installation.leases_named(self._connection.client, kind.operator_lease)
        admission = self._admission or of_operators.PoliciesInForce()
        if not of_operators.keeps_off(kind, admission):
            incomplete = of_operators.policy_findings(kind, admission, ())
            return [*of_operators.operator_findings(kind, leases, self._now), *incomplete]
        beside = [of_operators.kept_off(kind, lease) for lease in leases if holder_is_valid(lease, self._now)]
        requests = await requests_of(self._connection.discovery, self._readable(kind))
        incomplete = of_operators.policy_findings(kind, admission, requests)
        absent = await of_operators.absent_accounts(self._connection.client, kind, admission)
        return [*beside, *incomplete, *absent]

    async def _read_admission_policies(self) -> list[Finding]:
        """Read them unless no handled kind depends on admission policies."""
        if not any(kind.operator_policies for kind in self._settings.check_kinds):
            return []
        try:
            self._admission = await of_operators.read_policies_in_force(self._connection.client)
        except Forbidden:
            self._admission = None if self._is_one_of_us else self._admission
            raise
        return []

    async def _examine_policy(self) -> list[Finding]:
        self._policy = await of_installation.read_policy(self._connection.client, self._settings)
        return list(of_installation.policy_findings(self._policy, self._settings.namespace))

    async def _examine_temporal_place(self) -> list[Finding]:
        if not self._temporal_host:
            return []
        checks = [(kind, check) for kind in self._settings.check_kinds for check in self._readable(kind)]
        live = LiveObjects(self._connections, readers())
        place = TemporalPlace(self._connection, live, self._settings.namespace)
        return await place.findings(self._temporal_host, checks)

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
        checks = [read(kind, check.body) for check in self._checks.get(kind.group_kind, ())]
        return [check for check in checks if not isinstance(check, InvalidCheckError)]
