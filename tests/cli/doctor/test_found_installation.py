"""`paramedic doctor` without the name of a cluster: it finds the only installation, as `explain` does."""

import json

import pytest

from cli.shared.installations import named_by_leases, named_by_statuses
from kube.resource import LEASES, Object
from objects.clusters import INSTALLATION_LABEL
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.process_names import LEADER_LEASE
from tests.support.api.api_server import NOT_SERVED, ApiServer, refused, said
from tests.support.api.ports import free_port
from tests.support.cluster.command import Command

NAMES_IT = "PARAMEDIC_CLUSTER: must be set, or give --cluster: no installation was found in the cluster"
SEVERAL = "there are several installations, give --cluster: east-00000001, west-00000002"


def leader(cluster: str, namespace: str) -> Object:
    """The Lease of a detector that has led for the cluster."""
    identity = {"name": LEADER_LEASE, "namespace": namespace, "uid": f"uid-of-{cluster}"}
    more = {"labels": {INSTALLATION_LABEL: cluster}, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": identity | more}


def installed(server: ApiServer, *leases: Object) -> None:
    server.answer("GET", LEASES.path(), said({"metadata": {"resourceVersion": "1"}, "items": leases}))
    server.answer("GET", PARAMEDIC_STATUSES.path(), NOT_SERVED)


@pytest.fixture
def command(server: ApiServer) -> Command:
    return Command({"KUBECONFIG": str(server.kubeconfig), "TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"})


async def test_only_installation_names_cluster_and_namespace(server: ApiServer, command: Command) -> None:
    server.is_cluster("00000001-2222-4333-8444-555555555555")
    installed(server, leader("east-00000001", "ours"))
    ran = await command("doctor", "-o", "json")
    assert (ran.code, json.loads(ran.out)["cluster"]) == (1, "east-00000001")
    assert any(asked.path.endswith("/namespaces/ours/configmaps/paramedic-policy") for asked in server.asked)


@pytest.mark.parametrize("line", ["doctor", "explain node-1"])
async def test_of_two_installations_none_is_chosen(server: ApiServer, command: Command, line: str) -> None:
    installed(server, leader("east-00000001", "ours"), leader("west-00000002", "theirs"))
    ran = await command(*line.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"paramedic: {SEVERAL}\n")


@pytest.mark.parametrize("may_list", [True, False])
async def test_cluster_without_a_known_installation_needs_a_name(
    server: ApiServer, command: Command, *, may_list: bool
) -> None:
    if may_list:
        installed(server)
    else:
        server.answer("GET", LEASES.path(), refused(403, "Forbidden"))
    ran = await command("doctor")
    assert (ran.code, ran.out, ran.err) == (2, "", f"paramedic: {NAMES_IT}\n")


def test_status_and_lease_that_name_no_installation_are_none() -> None:
    east, of_leader = "east-00000001", leader("east-00000001", "ours")
    unnamed = of_leader | {"metadata": of_leader["metadata"] | {"labels": {}}}

    assert named_by_statuses([unnamed, unnamed | {"status": {"conditions": "?"}}]) == ()
    assert named_by_leases([unnamed]) == ()
    (one,) = named_by_leases([of_leader])
    found = (one.source, one.namespace, one.cluster)
    assert found == (f"Lease ours/{LEADER_LEASE}", "ours", east)
    status = {"installation": {"cluster": east, "leaseNamespace": "l"}}
    (one,) = named_by_statuses([unnamed | {"status": status}])
    assert (one.cluster, one.lease_namespace, one.temporal_namespace) == (east, "l", None)
