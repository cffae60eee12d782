"""Questions about the rights of our processes, and about the workload clusters that checks name.

An administrator, who may review others, asks about the ServiceAccounts of `deploy/`. One of these accounts
asks about itself, and reports that it cannot review the other.

Workload clusters are examined concurrently, each with a time limit, so a cluster that does not answer delays
no other. Kubeconfigs are read as our processes read them, and their content is never shown.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from activities.attempt import StepHeld
from activities.live_objects import LiveObjects
from activities.registry import KIND_ACTIVITIES
from cli.doctor.cluster import ExaminedCluster
from cli.doctor.finding import Finding, FindingRules, FindingSeverity, Found
from health.check.health_check import HealthCheck
from health.cluster.cluster_context import ClusterContext
from health.cluster.upgrade import CLUSTER_VERSION
from health.kinds.check_kind import CheckKind
from health.kinds.right import Process, Right
from kube.connection import ClusterConnections
from kube.errors import Forbidden, KindUnknown, KubernetesError
from kube.resource import NODES
from objects.clusters import MANAGEMENT_CLUSTER, SecretField
from runtime.rights import (
    ETCD,
    EVIDENCE_IN_WORKLOAD_CLUSTERS,
    IN_WORKLOAD_CLUSTERS,
    granted_by,
    needs,
    needs_for_evidence,
    needs_for_requests,
    needs_for_secret,
    needs_for_signal,
    needs_for_upgrade_pause,
    refused_verbs,
    signals_upgrades_here,
)

WORKLOAD_CLUSTER_RULES = FindingRules[ExaminedCluster]()
PATIENCE = timedelta(seconds=10)
"""The limit for each cluster; a healthy one takes milliseconds."""


@dataclass(frozen=True)
class KubeconfigSecret:
    """A workload cluster, and the Secret of its kubeconfig."""

    name: str
    secret: SecretField
    granted_by: str
    """The file with a role that lets our processes read that Secret."""
    saves_evidence: bool = False
    """True if a check asks for evidence of its Nodes."""


async def workload_clusters(cluster: ExaminedCluster) -> list[KubeconfigSecret]:
    """The clusters whose Nodes the valid checks judge.

    Raises:
        KubernetesError: an object that a check names cannot be read.

    """
    live, found = LiveObjects(cluster.connections, KIND_ACTIVITIES), []

    async def context_of(check: HealthCheck) -> ClusterContext:
        try:
            return await live.context(check)
        except (ValidationError, StepHeld):  # StepHeld: an object that it names is missing, as its Cluster
            return ClusterContext()  # the status of the check reports the hold

    for kind in cluster.settings.check_kinds:
        if kind.kubeconfig is not None:
            checks = await cluster.readable(kind)
            contexts = await asyncio.gather(*(context_of(check) for check in checks))
            found += judged_clusters(kind, zip(checks, contexts, strict=True))
    return found


def judged_clusters(
    kind: CheckKind, judged: Iterable[tuple[HealthCheck, ClusterContext]]
) -> list[KubeconfigSecret]:
    """The clusters whose Nodes these checks judge, each in its context."""
    if kind.kubeconfig is None:
        return []
    named = [(check.node_cluster(context), check.choices.evidence is not None) for check, context in judged]
    with_evidence = {name for name, saves_evidence in named if saves_evidence}
    return [
        KubeconfigSecret(name, kind.kubeconfig(name), kind.kubeconfig_roles, name in with_evidence)
        for name in sorted({name for name, _ in named} - {MANAGEMENT_CLUSTER})
    ]


@WORKLOAD_CLUSTER_RULES.finds(
    "WorkloadClusterUnusable",
    FindingSeverity.PROBLEM,
    "correct that Secret, the rights of its identity, the API server or the network; the status of its "
    "checks has the hold",
)
async def unusable(cluster: ExaminedCluster) -> Found:
    for found in await unusable_findings(cluster.connections, await workload_clusters(cluster)):
        yield found


async def unusable_findings(
    connections: ClusterConnections, clusters: Sequence[KubeconfigSecret], patience: timedelta = PATIENCE
) -> list[Finding]:
    """The findings about all these clusters, which are examined concurrently."""
    found = await asyncio.gather(*(_examine(connections, one, patience) for one in clusters))
    return [finding for of_one in found for finding in of_one]


async def _examine(
    connections: ClusterConnections, cluster: KubeconfigSecret, patience: timedelta
) -> list[Finding]:
    needs = [*granted_by(IN_WORKLOAD_CLUSTERS)]
    if cluster.saves_evidence:
        needs += granted_by(EVIDENCE_IN_WORKLOAD_CLUSTERS)
    try:
        connection = await connections.of(cluster.name, cluster.secret)
    except Forbidden as error:  # the caller may not read the Secret, and our processes may
        what = f"cannot look at the workload cluster {cluster.name}: {error.message.rstrip('.')}"
        advice = "make it possible, or run this as a user who may"
        return [Finding(severity=FindingSeverity.WARNING, reason="CannotLook", what=what, advice=advice)]
    except KubernetesError as error:
        return [unusable.finding(f"workload cluster {cluster.name}: {error.message.rstrip('.')}")]
    try:
        async with asyncio.timeout(patience.total_seconds()):
            await connection.transport.request("GET", NODES.path(), query=[("limit", "1")])
            refused = await refused_verbs(connection.client, needs)
    except (KubernetesError, TimeoutError) as error:
        late = f"its API server does not answer within {patience.total_seconds():g} s"
        why = error.message.rstrip(".") if isinstance(error, KubernetesError) else late
        return [unusable.finding(f"workload cluster {cluster.name}: {why}, with {cluster.secret}")]
    return [
        Finding(
            severity=FindingSeverity.PROBLEM,
            reason="WorkloadRightMissing",
            what=f"the identity in {cluster.secret} may not {', '.join(verbs)} {need} "
            f"in the workload cluster {cluster.name}",
            advice=f"apply {need.granted_by} there",
        )
        for need, verbs in refused.items()
        if need.process is Process.DETECTOR  # the worker has the same identity
    ]


RIGHT_RULES = FindingRules[ExaminedCluster]()


@RIGHT_RULES.finds("RightMissing", FindingSeverity.PROBLEM, "apply the file that grants it")
async def missing_rights(cluster: ExaminedCluster) -> Found:
    async for found in _reviewed(cluster, await needed_rights(cluster)):
        yield found


@RIGHT_RULES.finds("RightMissing", FindingSeverity.PROBLEM, "apply the file that grants it")
async def missing_rights_on_kubeconfigs(cluster: ExaminedCluster) -> Found:
    wanted: list[Right] = []
    for one in await workload_clusters(cluster):
        wanted += needs_for_secret(one.granted_by, one.secret.namespace, one.secret.name)
    async for found in _reviewed(cluster, wanted):
        if isinstance(found, Finding) and found.reason == missing_rights.reason:
            yield found


async def _reviewed(cluster: ExaminedCluster, wanted: list[Right]) -> Found:
    """The missing rights; a finding instead about a process whose rights the caller may not review."""
    try:
        for process in Process:
            for found in await _missing(cluster, wanted, process, _account(cluster, process)):
                yield found
    except Forbidden:
        user = await cluster.user()
        own = [process for process in Process if cluster.user_of(process) == user]
        for process in own:
            for found in await _missing(cluster, wanted, process, None):
                yield found
        for process in Process:
            if process not in own:
                account = cluster.settings.service_accounts[process]
                yield Finding(
                    severity=FindingSeverity.NOTE if own else FindingSeverity.WARNING,
                    reason="RightsUnknown",
                    what=f"{user!r} cannot review the rights of the {process}",
                    advice=f"run it as an administrator, or as the ServiceAccount {account}",
                )


async def _missing(
    cluster: ExaminedCluster, wanted: list[Right], process: Process, account: Mapping[str, object] | None
) -> list[Finding]:
    of_process = [need for need in wanted if need.process is process]
    return [
        missing_rights.finding(f"the {process} may not {', '.join(verbs)} {need}", f"apply {need.granted_by}")
        for need, verbs in (await refused_verbs(cluster.client, of_process, account)).items()
    ]


def _account(cluster: ExaminedCluster, process: Process) -> Mapping[str, object]:
    accounts = "system:serviceaccounts"
    groups = [accounts, f"{accounts}:{cluster.settings.namespace}", "system:authenticated"]
    return {"user": cluster.user_of(process), "groups": groups}


async def needed_rights(cluster: ExaminedCluster) -> list[Right]:
    """The rights of our processes in this cluster; kinds that the API server does not serve need none.

    Raises:
        KubernetesError: the API server cannot be asked.

    """
    settings, discovery = cluster.settings, cluster.connection.discovery
    checks = await cluster.readable()
    wanted = [*needs(settings)]
    for signal in settings.upgrade_signals:
        with suppress(KindUnknown):  # an unserved kind signals nothing
            kind = await discovery.resource(signal.api_version, signal.kind)
            wanted += needs_for_signal(kind.group, kind.plural)
            if settings.upgrade_pause != "off" and signal in signals_upgrades_here(settings):
                wanted += needs_for_upgrade_pause()
    with suppress(KindUnknown):
        await discovery.resource(CLUSTER_VERSION.api_version, CLUSTER_VERSION.kind)
        wanted += granted_by(ETCD)
    if any(check.choices.evidence is not None for check in checks):
        wanted += needs_for_evidence(settings)
    steps = [step.template for check in checks for step in check.steps]
    for template in {(step.api_version, step.kind): step for step in steps}.values():
        with suppress(KindUnknown):  # the check's own condition reports it
            templates = await discovery.resource(template.api_version, template.kind)
            requests = await discovery.resource(template.api_version, template.request_kind)
            wanted += needs_for_requests(requests.group, templates.plural, requests.plural)
    return [*dict.fromkeys(wanted)]
