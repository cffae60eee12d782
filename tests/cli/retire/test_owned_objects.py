"""The objects of Paramedic in a cluster and their fate after `retire`, as pure functions."""

from datetime import timedelta
from typing import Any

import pytest

from cli.retire.owned_objects import (
    Disposition,
    Ownership,
    Snapshot,
    Stored,
    is_scaled_up,
    owned_objects,
    running_detectors,
    running_operators,
)
from cli.shared.installations import FoundInstallation
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import INCIDENT, NODE_NAME
from kube.lease import CONTROL_PLANE_LOCK, LeaseRecord, lock_of
from kube.resource import NODES, Object, Resource, resource_of
from objects.timestamps import micro_time
from runtime.paramedic_status import Installation
from runtime.process_names import LEADER_LEASE
from tests.support.values.builders import NOW

REQUESTS = Resource("example.com/v1", "Reboot", "reboots", namespaced=True)
CLUSTER = "prod-1a2b3c4d"
PAUSED, MARK = "cluster.x-k8s.io/paused", "machine.openshift.io/paused-for-upgrade"


def incident(node: str = "node-1", cluster: str = CLUSTER) -> IncidentReference:
    return IncidentReference(
        cluster=cluster,
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name=node, uid="0123abcd-2222"),
    )


def body(name: str, **metadata: Any) -> Object:
    known = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": NOW.isoformat()}
    return {"metadata": known | metadata}


def request(of: IncidentReference, **metadata: Any) -> Stored:
    annotations = {INCIDENT: of.workflow_id, NODE_NAME: of.target.name}
    return Stored(REQUESTS, body(of.target.name, namespace="ns", annotations=annotations, **metadata))


def adopted(of: IncidentReference) -> Stored:
    owner = {
        "apiVersion": NODE_HEALTH_CHECK.api_version,
        "kind": of.check.kind,
        "name": of.check.name,
        "uid": "1",
    }
    return Stored(REQUESTS, body(of.target.name, namespace="ns", ownerReferences=[owner]))


def lease(name: str, holder: str, *, renewed_ago: timedelta = timedelta(), **metadata: Any) -> Object:
    times = {"renewTime": micro_time(NOW - renewed_ago), "acquireTime": micro_time(NOW - renewed_ago)}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, **times}
    written = {"managedFields": [{"manager": "paramedic-worker", "time": NOW.isoformat()}]}
    return body(name, namespace="leases", **(written | metadata)) | {"spec": spec}


def check(*annotations: str, **metadata: Any) -> Stored:
    resource = resource_of(MACHINE_HEALTH_CHECK)
    return Stored(
        resource, body("mhc", namespace="ns", annotations=dict.fromkeys(annotations, ""), **metadata)
    )


def found(whose: Ownership, **snapshot: Any) -> list[tuple[str, Disposition]]:
    return [(owned.name, owned.disposal) for owned in owned_objects(Snapshot(now=NOW, **snapshot), whose)]


def test_request_of_this_cluster_is_deleted_or_left_to_its_operator() -> None:
    made = (request(incident()),)

    assert found(Ownership(cluster=CLUSTER), requests=made) == [("Reboot/ns/node-1", Disposition.DELETE)]
    assert found(Ownership(cluster=CLUSTER, is_handed_over=True), requests=made) == [
        ("Reboot/ns/node-1", Disposition.LEAVE)
    ]


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_orders_on_any_object_are_removed_before_a_later_installation_obeys_them(
    *, is_handed_over: bool
) -> None:
    orders = {"paramedic.dev/hold": "disk", "paramedic.dev/remediate": "INC-7"}
    node = Stored(NODES, body("node-1", annotations={"theirs": "kept", **orders}))
    whose = Ownership(cluster=CLUSTER, is_handed_over=is_handed_over)

    (one,) = owned_objects(Snapshot(now=NOW, ordered=(node,)), whose)

    assert str(one) == (
        "remove the orders on Node/node-1: "
        "no detector takes paramedic.dev/hold, paramedic.dev/remediate any more"
    )
    assert one.annotations == dict.fromkeys(orders)


def test_orders_are_left_to_another_installation_of_the_same_cluster() -> None:
    node = Stored(NODES, body("node-1", annotations={"paramedic.dev/hold": "disk"}))
    installed = tuple(
        FoundInstallation("", "ns", Installation(cluster=name)) for name in (CLUSTER, "test-1a2b3c4d")
    )

    (one,) = owned_objects(
        Snapshot(now=NOW, ordered=(node,), installed=installed), Ownership(cluster=CLUSTER)
    )

    assert one.disposal is Disposition.LEAVE
    assert "the installation test-1a2b3c4d takes orders, too" in one.why


def test_request_of_another_installation_in_the_cluster_is_left_and_says_whose_it_is() -> None:
    (one,) = owned_objects(
        Snapshot(now=NOW, requests=(request(incident(cluster="test-1a2b3c4d")),)), Ownership(cluster=CLUSTER)
    )

    assert one.disposal is Disposition.LEAVE
    assert "`paramedic retire --cluster test`" in one.why


def test_request_that_hangs_is_awaited_by_the_name_of_its_finalizer_and_its_lease_stays_with_it() -> None:
    going = request(incident(), deletionTimestamp=NOW.isoformat(), finalizers=["power.example.com/off"])
    leases = (lease("node-node-1", "NodeHealthCheck-workers"),)

    of_request, of_lease = owned_objects(
        Snapshot(now=NOW, requests=(going,), target_leases=leases), Ownership(cluster=CLUSTER)
    )

    assert of_request.disposal is of_lease.disposal is Disposition.AWAIT
    assert "power.example.com/off" in of_request.why


def test_request_of_an_operator_is_ours_only_where_an_open_incident_says_that_it_adopted_it() -> None:
    made = (adopted(incident()),)

    assert found(Ownership(cluster=CLUSTER), requests=made) == []
    assert (
        found(
            Ownership(cluster=CLUSTER, incidents=frozenset([incident()]), earlier=frozenset([incident()])),
            requests=made,
        )
        == []
    )
    ours = found(Ownership(cluster=CLUSTER, adopted={"uid-node-1": incident()}), requests=made)
    assert ours == [("Reboot/ns/node-1", Disposition.DELETE)]


@pytest.mark.parametrize(
    "whose",
    [
        Ownership(cluster=CLUSTER, incidents=frozenset([incident()])),
        Ownership(cluster=CLUSTER, earlier=frozenset([incident()])),
    ],
    ids=["open", "terminated"],
)
def test_lease_and_lock_are_deleted_where_an_incident_signed_them(whose: Ownership) -> None:
    leases = (
        lease("node-node-1", "NodeHealthCheck-workers"),
        lease("node-node-1", "NodeHealthCheck-others"),
        lease("node-node-2", "NodeHealthCheck-workers"),
        lease(CONTROL_PLANE_LOCK, "NodeHealthCheck-workers/node-1"),
        lease(CONTROL_PLANE_LOCK, "NodeHealthCheck-workers/node-2"),
        lease(lock_of("fleet/core"), "NodeHealthCheck-workers/node-1"),
    )

    of = owned_objects(Snapshot(now=NOW, target_leases=leases), whose)

    assert [owned.stored.body for owned in of] == [leases[0], leases[3], leases[5]]
    assert {owned.disposal for owned in of} == {Disposition.DELETE}


def test_lease_that_an_operator_wrote_after_us_is_its_own() -> None:
    ours = {"manager": "paramedic-worker", "time": NOW.isoformat()}
    its = {"manager": "manager", "time": (NOW + timedelta(seconds=1)).isoformat()}
    leases = (lease("node-node-1", "NodeHealthCheck-workers", managedFields=[its, ours]),)

    assert found(Ownership(cluster=CLUSTER, incidents=frozenset([incident()])), target_leases=leases) == []


def test_lease_that_is_handed_over_stays() -> None:
    whose = Ownership(cluster=CLUSTER, incidents=frozenset([incident()]), is_handed_over=True)

    of = found(whose, target_leases=(lease("node-node-1", "NodeHealthCheck-workers"),))

    assert of == [("Lease/leases/node-node-1", Disposition.LEAVE)]


@pytest.mark.parametrize(
    ("annotations", "taken_off"),
    [((), None), ((PAUSED,), None), ((MARK,), {MARK: None}), ((PAUSED, MARK), {PAUSED: None, MARK: None})],
)
def test_only_a_pause_with_our_mark_is_taken_off(
    annotations: tuple[str, ...], taken_off: dict[str, None] | None
) -> None:
    of = owned_objects(
        Snapshot(now=NOW, pausable=((MACHINE_HEALTH_CHECK, check(*annotations)),)), Ownership(cluster=CLUSTER)
    )

    assert [owned.annotations for owned in of] == ([] if taken_off is None else [taken_off])
    assert all(owned.disposal is Disposition.UNPAUSE for owned in of)


def test_check_stays_paused_while_its_cluster_is_upgraded_or_when_it_is_handed_over() -> None:
    pausable = ((MACHINE_HEALTH_CHECK, check(PAUSED, MARK)),)
    going = ((MACHINE_HEALTH_CHECK, check(PAUSED, MARK, deletionTimestamp=NOW.isoformat())),)
    name = "MachineHealthCheck/ns/mhc"

    upgraded = found(Ownership(cluster=CLUSTER), pausable=pausable, upgrading="it is being upgraded")
    assert upgraded == [(name, Disposition.AWAIT)]
    assert found(Ownership(cluster=CLUSTER, is_handed_over=True), pausable=pausable) == [
        (name, Disposition.LEAVE)
    ]
    assert found(Ownership(cluster=CLUSTER), pausable=going) == []


def test_mark_on_a_machine_is_left_to_its_remediator() -> None:
    asked = {"conditions": [{"type": "OwnerRemediated", "status": "False"}]}
    openshift, cluster_api = (kind for kind in CHECK_KINDS.values() if kind.mark_on is not None)
    annotated = body("marked", namespace="ns", annotations={"host.metal3.io/external-remediation": ""})
    markable = tuple(
        (kind, Stored(resource_of(kind.targets), one))
        for kind, one in (
            (openshift, annotated),
            (openshift, body("healthy", namespace="ns")),
            (cluster_api, body("asked", namespace="ns") | {"status": asked}),
            (cluster_api, body("asked-by-twin", namespace="ns") | {"status": {"v1beta2": asked}}),
            (cluster_api, body("healthy", namespace="ns") | {"status": {}}),
        )
    )

    names = ["Machine/ns/marked", "Machine/ns/asked", "Machine/ns/asked-by-twin"]
    assert found(Ownership(cluster=CLUSTER), markable=markable) == [
        (name, Disposition.LEAVE) for name in names
    ]


def test_lease_of_the_leader_is_known_and_names_the_running_one() -> None:
    leases = (lease(LEADER_LEASE, "leads"), lease("somebody", "else"))
    assert running_detectors(leases, NOW) == ("leads",)
    assert running_detectors([lease(LEADER_LEASE, "")], NOW) == ()
    assert running_detectors([lease(LEADER_LEASE, "died", renewed_ago=timedelta(minutes=1))], NOW) == ()
    assert len(found(Ownership(cluster=CLUSTER), own_leases=leases)) == 1


@pytest.mark.parametrize(
    ("spec", "status", "is_up"),
    [
        ({"replicas": 0}, {}, False),
        ({"replicas": 0}, {"replicas": 1}, True),
        ({"replicas": 2}, {}, True),
        ({}, {}, True),
    ],
)
def test_deployment_is_scaled_up_while_it_has_pods_or_is_to_have_some(
    spec: Object, status: Object, *, is_up: bool
) -> None:
    assert is_scaled_up({"spec": spec, "status": status}) is is_up


def test_operator_runs_while_its_leader_lease_is_held_and_a_shared_one_says_nothing() -> None:
    leases = [
        LeaseRecord.read(lease(kind.operator_lease, "pod", renewed_ago=ago))
        for kind in CHECK_KINDS.values()
        for ago in (timedelta(), timedelta(minutes=1))
    ]

    running = running_operators(CHECK_KINDS.values(), leases, NOW)

    assert len(running) == 2
    assert "'pod' holds the Lease leases/e1f13584.medik8s.io" in running[0]


def test_without_temporal_a_lease_is_ours_by_its_writer_unless_its_request_is_anothers() -> None:
    of_another = (request(incident("node-2", cluster="test-1a2b3c4d")),)
    leases = (
        lease("node-node-1", "NodeHealthCheck-workers"),
        lease("node-node-2", "NodeHealthCheck-workers"),
        lease("node-node-3", "node-maintenance", managedFields=[{"manager": "a", "time": NOW.isoformat()}]),
    )
    gone = Ownership(cluster=CLUSTER, is_without_temporal=True)

    assert found(gone, requests=of_another, target_leases=leases) == [
        ("Reboot/ns/node-2", Disposition.LEAVE),
        ("Lease/leases/node-node-1", Disposition.DELETE),
    ]
    assert found(Ownership(cluster=CLUSTER), target_leases=leases) == []
