"""Findings about workload clusters, on scripted servers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli.doctor.finding import Finding
from cli.doctor.rights import KubeconfigSecret, judged_clusters, unusable_findings
from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.right import Process
from kube.connection import ClusterConnection, ClusterConnections, WorkloadConnections
from kube.resource import NODES, SECRETS
from kube.transport import Transport
from objects.clusters import SecretField
from runtime.rights import needs_for_secret
from tests.support.api.api_server import Answer, ApiServer, hanging, refused, said
from tests.support.api.kubeconfigs import TOKEN, Pair, encoded, kubeconfig, secret_of
from tests.support.values.cluster_api import check, cluster, in_cluster

CAPI = CLUSTER_API_MACHINE_HEALTH_CHECK
PATIENCE = timedelta(seconds=2)
"""For servers that hang."""


def test_clusters_are_those_that_a_check_names_once_there_is_an_api_server() -> None:
    checks = [check(), check(), check(clusterName="gone")]
    (found,) = judged_clusters(CAPI, [(one, in_cluster()) for one in checks])
    assert (found.name, str(found.secret)) == (
        "fleet/edge",
        "the key value of the Secret fleet/edge-kubeconfig",
    )
    assert judged_clusters(CAPI, [(check(), in_cluster(cluster(initialized="")))]) == []


def test_both_processes_need_that_one_secret_and_what_grants_it_is_said() -> None:
    (found,) = judged_clusters(CAPI, [(check(), in_cluster())])
    needs = [*needs_for_secret(found.granted_by, found.secret.namespace, found.secret.name)]
    assert {need.process for need in needs} == set(Process)
    assert {(need.verbs, str(need)) for need in needs} == {(("get",), "secrets edge-kubeconfig in fleet")}
    assert {need.granted_by for need in needs} == {"deploy/examples/kubeconfig-secrets.yaml"}


@dataclass
class Fleet:
    """Workload clusters that are all served by one server, and their Secrets."""

    management: ApiServer
    workload: ApiServer
    pair: Pair

    def add(self, name: str, **fields: Any) -> KubeconfigSecret:
        """One whose kubeconfig says this of its cluster, or of its user."""
        content = kubeconfig(f"https://127.0.0.1:{self.workload.port}", **fields.pop("user", {}))
        of_cluster = content["clusters"][0]["cluster"]
        of_cluster |= {"certificate-authority-data": encoded(self.pair.certificate), **fields}
        return self.with_secret(name, secret_of(content))

    def with_secret(self, name: str, *answer: object) -> KubeconfigSecret:
        secret = SecretField("fleet", f"{name}-kubeconfig", "value")
        answers = [said(reply) if isinstance(reply, dict) else reply for reply in answer]
        self.management.answer("GET", SECRETS.path("fleet", secret.name), *answers)  # type: ignore[arg-type]
        return KubeconfigSecret(f"fleet/{name}", secret, "a file")


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    pair = Pair.make(tmp_path / "pair", "workload")
    (tmp_path / "workload").mkdir()
    async with (
        ApiServer(tmp_path) as management,
        ApiServer(tmp_path / "workload", pair.serving()) as workload,
    ):
        yield Fleet(management, workload, pair)


async def looked_at(
    fleet: Fleet, *clusters: KubeconfigSecret, patience: timedelta = timedelta(minutes=1)
) -> list[Finding]:
    async with await Transport.connect(str(fleet.management.kubeconfig)) as transport:
        connection = ClusterConnection.over(transport)
        async with WorkloadConnections(connection.client) as opened:
            found = await unusable_findings(ClusterConnections(connection, opened), clusters, patience)
    assert TOKEN not in "".join(map(str, found))
    return found


def allow(server: ApiServer, *refused: str) -> None:
    """Every right, but for those on these resources."""

    async def review(request: web.Request) -> web.StreamResponse:
        asked = (await request.json())["spec"]["resourceAttributes"]
        assert asked["name"] == ("kube-system" if asked["resource"] == "namespaces" else "")
        return await said({"status": {"allowed": asked["resource"] not in refused}}, 201)(request)

    server.answer("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)


async def test_nodes_that_can_be_listed_are_nothing_to_say(fleet: Fleet) -> None:
    fleet.workload.version(NODES.path(), said({"items": []}))
    allow(fleet.workload)
    assert await looked_at(fleet, fleet.add("east")) == []


async def test_rights_that_the_identity_lacks_there_are_named_with_what_grants_them(fleet: Fleet) -> None:
    fleet.workload.version(NODES.path(), said({"items": []}))
    allow(fleet.workload, "namespaces", "pods")
    found = await looked_at(fleet, fleet.add("east"))
    assert {(finding.severity, finding.reason) for finding in found} == {("problem", "WorkloadRightMissing")}
    (words,) = [finding.what for finding in found]
    assert words.startswith("the identity in the key value of the Secret fleet/east-kubeconfig may not ")
    assert words.endswith("get namespaces kube-system in the workload cluster fleet/east")
    assert found[0].advice == "apply deploy/workload-cluster/nodes.yaml there"

    with_evidence = replace(fleet.add("west"), saves_evidence=True)
    advice = [finding.advice for finding in await looked_at(fleet, with_evidence)]
    assert "apply deploy/workload-cluster/evidence.yaml there" in advice


@pytest.mark.parametrize("answer", [refused(403, "Forbidden"), hanging])
async def test_cluster_that_does_not_answer_about_rights_is_reported(fleet: Fleet, answer: Answer) -> None:
    fleet.workload.version(NODES.path(), said({"items": []}))
    fleet.workload.answer("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", answer)
    (found,) = await looked_at(fleet, fleet.add("east"), patience=PATIENCE)
    assert (found.severity, found.reason) == ("problem", "WorkloadClusterUnusable")


async def test_secret_that_is_not_there_holds_the_checks_of_its_cluster(fleet: Fleet) -> None:
    (found,) = await looked_at(fleet, fleet.with_secret("east", refused(404, "NotFound", "east-kubeconfig")))
    assert (found.severity, found.reason) == ("problem", "WorkloadClusterUnusable")
    assert found.what.startswith("workload cluster fleet/east: There is no kubeconfig")
    assert "the Secret fleet/east-kubeconfig" in found.what


async def test_kubeconfig_that_is_refused_is_named_with_its_field(fleet: Fleet) -> None:
    (found,) = await looked_at(fleet, fleet.add("east", user={"exec": {"command": TOKEN}}))
    assert found.reason == "WorkloadClusterUnusable"
    assert "fleet/east-kubeconfig cannot be used: its user has exec, and no program is run" in found.what
    assert fleet.workload.asked == []


async def test_secret_that_we_may_not_read_ourselves_says_nothing_of_the_cluster(fleet: Fleet) -> None:
    (found,) = await looked_at(fleet, fleet.with_secret("east", refused(403, "Forbidden")))
    assert (found.severity, found.reason) == ("warning", "CannotLook")


@pytest.mark.parametrize("status", [401, 403])
async def test_identity_that_may_not_list_nodes_is_named_by_its_secret(fleet: Fleet, status: int) -> None:
    fleet.workload.version(NODES.path(), refused(status, "No"))
    (found,) = await looked_at(fleet, fleet.add("east"))
    assert (found.severity, found.reason) == ("problem", "WorkloadClusterUnusable")
    assert found.what.endswith("with the key value of the Secret fleet/east-kubeconfig")


async def test_twenty_clusters_that_do_not_answer_take_the_time_of_one_and_hide_no_other(
    fleet: Fleet,
) -> None:
    fleet.workload.version(NODES.path(), hanging)
    away = [fleet.add(f"away-{number}") for number in range(20)]
    refusing = fleet.add("refused", user={"tokenFile": "/etc/passwd"})
    async with asyncio.timeout(10 * PATIENCE.total_seconds()):
        found = await looked_at(fleet, *away, refusing, patience=PATIENCE)
    assert [finding.reason for finding in found] == ["WorkloadClusterUnusable"] * 21
    assert found[0].what.startswith(
        "workload cluster fleet/away-0: its API server does not answer within 2 s"
    )
    assert "tokenFile" in found[20].what
