"""The question whether our processes have all rights that the roles in `deploy/` grant.

An administrator, who may review others, asks about the ServiceAccounts of `deploy/`. One of these accounts
asks about itself, and reports that it cannot review the other.
"""

from collections.abc import Mapping
from contextlib import suppress

from cli.doctor.cluster import ExaminedCluster
from cli.doctor.finding import Finding, FindingRules, FindingSeverity, Found
from cli.doctor.of_workload_clusters import workload_clusters
from health.cluster.upgrade import CLUSTER_VERSION
from health.kinds.right import Process, Right
from kube.errors import Forbidden, KindUnknown
from runtime.rights import (
    ETCD,
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

OF_RIGHTS = FindingRules[ExaminedCluster]()


@OF_RIGHTS.finds("RightMissing", FindingSeverity.PROBLEM, "apply the file that grants it")
async def missing_rights(cluster: ExaminedCluster) -> Found:
    async for found in _reviewed(cluster, await needed_rights(cluster)):
        yield found


@OF_RIGHTS.finds("RightMissing", FindingSeverity.PROBLEM, "apply the file that grants it")
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
