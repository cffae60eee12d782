"""Which Service of this cluster the host of Temporal is, and where its pods stand."""

from typing import Any

import pytest

from cli.doctor.of_temporal_place import (
    ServiceName,
    ip_of,
    nodes_behind,
    place_findings,
    service_at,
    service_named,
)

FRONTEND = ServiceName("temporal", "frontend")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("frontend.temporal", FRONTEND),
        ("frontend.temporal.svc", FRONTEND),
        ("frontend.temporal.svc.cluster.local", FRONTEND),
        ("Frontend.Temporal.svc.cluster.local.", FRONTEND),
        ("frontend.temporal.svc.example.com", FRONTEND),
        ("frontend-0.frontend.temporal.svc.cluster.local", FRONTEND),
        ("svc.svc.svc", ServiceName("svc", "svc")),
        ("frontend", ServiceName("paramedic-system", "frontend")),
        ("localhost", None),
        ("prod.a1b2c.tmprl.cloud", None),
        ("temporal.example.com", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("", None),
        ("a..b", None),
    ],
)
def test_host_names_a_service_in_the_forms_of_the_dns_of_a_cluster(
    host: str, expected: ServiceName | None
) -> None:
    assert service_named(host, "paramedic-system") == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("FD00::7", "fd00::7"),
        ("127.0.0.1", None),
        ("::1", None),
        ("temporal", None),
    ],
)
def test_host_that_is_an_ip_of_another_machine_is_one(host: str, expected: str | None) -> None:
    assert ip_of(host) == expected


def service(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "temporal", "name": "frontend"}, **fields}


@pytest.mark.parametrize(
    "found",
    [
        service(spec={"clusterIP": "10.0.0.7"}),
        service(spec={"clusterIP": "fd00::7", "clusterIPs": ["fd00::7", "10.0.0.7"]}),
        service(spec={"externalIPs": ["10.0.0.7"]}),
        service(spec={}, status={"loadBalancer": {"ingress": [{"hostname": "lb"}, {"ip": "10.0.0.7"}]}}),
    ],
)
def test_ip_is_that_of_the_service_that_has_it_anywhere(found: dict[str, Any]) -> None:
    other = {"metadata": {"namespace": "a", "name": "b"}, "spec": {"clusterIP": "None"}}
    assert service_at("10.0.0.7", [other, found]) == FRONTEND
    assert service_at("10.0.0.8", [other, found]) is None


def endpoint(node: str | None, uid: str, address: str) -> dict[str, Any]:
    found: dict[str, Any] = {"addresses": [address], "targetRef": {"kind": "Pod", "uid": uid}}
    return found | ({"nodeName": node} if node else {})


def test_pod_counts_once_whatever_families_of_ips_it_has_and_ready_or_not() -> None:
    four = {"endpoints": [endpoint("node-1", "a", "10.1.0.1"), endpoint("node-1", "b", "10.1.0.2")]}
    six = {"endpoints": [endpoint("node-1", "a", "fd00::1"), endpoint("node-2", "c", "fd00::3")]}
    outside = {"endpoints": [{"addresses": ["192.0.2.1"]}, endpoint(None, "d", "10.1.0.9")]}
    assert nodes_behind([four, six, outside, {"endpoints": None}]) == ["node-1", "node-1", "node-2"]


def test_pods_on_nodes_that_checks_select_are_reported_with_node_and_checks() -> None:
    selected = {
        "node-1": ["NodeHealthCheck/workers", "NodeHealthCheck/all"],
        "node-9": ["NodeHealthCheck/all"],
    }
    (finding,) = place_findings(FRONTEND, ["node-1", "node-1", "node-2"], selected)
    assert (finding.severity, finding.reason) == ("warning", "TemporalOnRemediatedNodes")
    assert finding.what == (
        "Temporal is the Service temporal/frontend of this cluster, and 2 of its 3 pods run on nodes that "
        "are remediated: node-1 (selected by NodeHealthCheck/workers, NodeHealthCheck/all)"
    )


@pytest.mark.parametrize(
    ("nodes", "words"),
    [(["node-2"], "on nodes that no check selects"), ([], "and no pod of it is known on a node")],
)
def test_temporal_in_this_cluster_is_a_note_for_its_database_is_not_seen(
    nodes: list[str], words: str
) -> None:
    (finding,) = place_findings(FRONTEND, nodes, {"node-1": ["NodeHealthCheck/workers"]})
    assert (finding.severity, finding.reason) == ("note", "TemporalInThisCluster")
    assert finding.what == f"Temporal is the Service temporal/frontend of this cluster, {words}"
