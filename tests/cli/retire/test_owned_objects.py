"""The objects and workflows of Paramedic and their fate after `retire`, as pure functions."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.common.v1 import ActivityType
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo

from cli.retire.owned_objects import (
    Disposition,
    OwnedObject,
    Snapshot,
    Stored,
    is_installed,
    is_scaled_up,
    owned_objects,
    refuse_other_place,
    running_detectors,
    running_operators,
)
from cli.retire.workflows import at_work
from cli.shared.errors import ExitCode, NotFoundError
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import INCIDENT
from kube.lease import LeaseRecord
from kube.resource import LEASES, NODES, Object, Resource, resource_of
from objects.clusters import INSTALLATION_LABEL
from objects.timestamps import micro_time
from runtime.paramedic_status import PARAMEDIC_STATUSES, Installation
from runtime.process_names import LEADER_LEASE
from runtime.settings import Settings
from tests.support.values.builders import NOW
from workflows.contracts import ACT, OBSERVE
from workflows.upgrade_contracts import OBSERVE_UPGRADE, SYNC_PAUSES

REQUESTS = Resource("example.com/v1", "Reboot", "reboots", namespaced=True)
CLUSTER, OTHER = "prod-1a2b3c4d", "test-1a2b3c4d"
PAUSED, MARK = "cluster.x-k8s.io/paused", "machine.openshift.io/paused-for-upgrade"
REQUEST, LEASE = "Reboot/ns/node-1", "Lease/leases/node-node-1"
DELETE, AWAIT, LEAVE = Disposition.DELETE, Disposition.AWAIT, Disposition.LEAVE


def incident(node: str = "node-1", cluster: str = CLUSTER) -> IncidentReference:
    return IncidentReference(
        cluster=cluster,
        check=CheckReference(kind="NodeHealthCheck", name="workers"),
        target=TargetReference(kind="Node", name=node, uid="0123abcd-2222"),
    )


def body(name: str, **metadata: Any) -> Object:
    known = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "creationTimestamp": NOW.isoformat()}
    return {"metadata": known | metadata}


def request(cluster: str = CLUSTER, **metadata: Any) -> Stored:
    ours = {"labels": {INSTALLATION_LABEL: cluster}, "annotations": {INCIDENT: "remediation/…"}}
    return Stored(REQUESTS, body("node-1", namespace="ns", **(ours | metadata)))


def lease(
    name: str, holder: str, *, renewed_ago: timedelta = timedelta(), cluster: str = CLUSTER, **metadata: Any
) -> Object:
    times = {"renewTime": micro_time(NOW - renewed_ago), "acquireTime": micro_time(NOW - renewed_ago)}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, **times}
    written = {
        "managedFields": [{"manager": "paramedic-worker", "time": NOW.isoformat()}],
        "labels": {INSTALLATION_LABEL: cluster},
    }
    return body(name, namespace="leases", **(written | metadata)) | {"spec": spec}


def named_as_our_lease() -> Stored:
    metadata = request().body["metadata"] | {"name": LEADER_LEASE}
    return Stored(REQUESTS, {"metadata": metadata})


def stored_lease(name: str = "node-node-1", **of: Any) -> Stored:
    return Stored(LEASES, lease(name, "NodeHealthCheck-workers", **of))


LEADER = stored_lease(LEADER_LEASE)
STATUS = Stored(PARAMEDIC_STATUSES, body("paramedic") | {"status": {"installation": {"cluster": CLUSTER}}})


def check(*annotations: str, **metadata: Any) -> Stored:
    resource = resource_of(MACHINE_HEALTH_CHECK)
    return Stored(
        resource, body("mhc", namespace="ns", annotations=dict.fromkeys(annotations, ""), **metadata)
    )


def installed(cluster: str, **of: str) -> Stored:
    """The ParamedicStatus, in which the leader names its installation."""
    installation = Installation(cluster=cluster, **of).model_dump(by_alias=True, exclude_none=True)
    status = body("paramedic", namespace="ours") | {"status": {"installation": installation}}
    return Stored(PARAMEDIC_STATUSES, status)


def owned(*, is_handed_over: bool = False, **snapshot: Any) -> tuple[OwnedObject, ...]:
    return owned_objects(Snapshot(now=NOW, **snapshot), CLUSTER, is_handed_over=is_handed_over)


def found(*labelled: Stored, is_handed_over: bool = False, **snapshot: Any) -> list[tuple[str, Disposition]]:
    of = owned(labelled=labelled, is_handed_over=is_handed_over, **snapshot)
    return [(one.name, one.disposal) for one in of]


@pytest.mark.parametrize(
    ("labelled", "expected", "expected_if_handed_over"),
    [
        ((request(),), [(REQUEST, DELETE)], [(REQUEST, LEAVE)]),
        ((stored_lease(),), [(LEASE, DELETE)], [(LEASE, LEAVE)]),
        (
            (request(), stored_lease()),
            [(REQUEST, DELETE), (LEASE, AWAIT)],
            [(REQUEST, LEAVE), (LEASE, LEAVE)],
        ),
        ((request(OTHER), stored_lease(cluster=OTHER)), [], []),
        ((request(annotations={}),), [], []),
        (
            (named_as_our_lease(),),
            [("Reboot/ns/paramedic-detector", DELETE)],
            [("Reboot/ns/paramedic-detector", LEAVE)],
        ),
        (
            (LEADER, STATUS),
            [("Lease/leases/paramedic-detector", DELETE), ("ParamedicStatus/paramedic", DELETE)],
            [("Lease/leases/paramedic-detector", DELETE), ("ParamedicStatus/paramedic", DELETE)],
        ),
        (
            (LEADER, request(), STATUS),
            [(REQUEST, DELETE)],
            [
                (REQUEST, LEAVE),
                ("Lease/leases/paramedic-detector", DELETE),
                ("ParamedicStatus/paramedic", DELETE),
            ],
        ),
    ],
    ids=[
        "a request",
        "a Lease",
        "a Lease stays with its request",
        "objects of another installation",
        "an object that somebody labelled",
        "a request for a Node with the name of our Lease",
        "what proves the installation",
        "what proves the installation stays until the rest is gone",
    ],
)
def test_objects_with_our_label_are_deleted_or_left_to_the_operators(
    labelled: tuple[Stored, ...],
    expected: list[tuple[str, Disposition]],
    expected_if_handed_over: list[tuple[str, Disposition]],
) -> None:
    assert found(*labelled) == expected
    assert found(*labelled, is_handed_over=True) == expected_if_handed_over


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_orders_on_any_object_are_removed_before_a_later_installation_obeys_them(
    *, is_handed_over: bool
) -> None:
    orders = {"paramedic.dev/hold": "disk", "paramedic.dev/remediate": "INC-7"}
    node = Stored(NODES, body("node-1", annotations={"theirs": "kept", **orders}))

    (one,) = owned(ordered=(node,), is_handed_over=is_handed_over)

    assert str(one) == (
        "remove the orders on Node/node-1: "
        "no detector takes paramedic.dev/hold, paramedic.dev/remediate any more"
    )
    assert one.annotations == dict.fromkeys(orders)


def test_annotations_are_left_to_another_installation_of_the_same_cluster() -> None:
    node = Stored(NODES, body("node-1", annotations={"paramedic.dev/hold": "disk"}))
    pausable = ((MACHINE_HEALTH_CHECK, check(PAUSED, MARK)),)

    restored = installed("prod-ffffffff")
    assert all(one.disposal is not LEAVE for one in owned(ordered=(node,), labelled=(restored,)))

    of_pause, of_orders, _ = owned(
        ordered=(node,), pausable=pausable, labelled=(installed(CLUSTER), installed(OTHER))
    )

    assert of_pause.disposal is of_orders.disposal is LEAVE
    assert f"the installation {OTHER} takes orders, too" in of_orders.why


def test_request_that_hangs_is_awaited_by_the_name_of_its_finalizer_and_its_lease_stays_with_it() -> None:
    going = request(deletionTimestamp=NOW.isoformat(), finalizers=["power.example.com/off"])

    of_request, of_lease = owned(labelled=(going, stored_lease()))

    assert of_request.disposal is of_lease.disposal is AWAIT
    assert "power.example.com/off" in of_request.why


def test_lease_that_an_operator_wrote_after_us_is_its_own() -> None:
    ours = {"manager": "paramedic-worker", "time": NOW.isoformat()}
    its = {"manager": "manager", "time": (NOW + timedelta(seconds=1)).isoformat()}

    (one,) = owned(labelled=(stored_lease(managedFields=[its, ours]),))

    assert (one.disposal, one.why) == (LEAVE, "another controller wrote it last, as NodeHealthCheck-workers")


@pytest.mark.parametrize("annotations", [(), (PAUSED,), (MARK,), (PAUSED, MARK)])
def test_only_a_pause_with_our_mark_is_taken_off(annotations: tuple[str, ...]) -> None:
    of = owned(pausable=((MACHINE_HEALTH_CHECK, check(*annotations)),))

    taken_off = [{PAUSED: None, MARK: None}] if MARK in annotations else []
    assert [one.annotations for one in of] == taken_off
    assert all(one.disposal is Disposition.UNPAUSE for one in of)


def test_check_stays_paused_while_its_cluster_is_upgraded_or_when_it_is_handed_over() -> None:
    pausable = ((MACHINE_HEALTH_CHECK, check(PAUSED, MARK)),)
    unpaused = ((MACHINE_HEALTH_CHECK, check(MARK)),)
    going = ((MACHINE_HEALTH_CHECK, check(PAUSED, MARK, deletionTimestamp=NOW.isoformat())),)
    name, upgrading = "MachineHealthCheck/ns/mhc", "it is being upgraded"

    assert found(pausable=pausable, upgrading=upgrading) == [(name, AWAIT)]
    assert found(pausable=unpaused, upgrading=upgrading) == [(name, LEAVE)]
    assert found(pausable=pausable, is_handed_over=True) == [(name, LEAVE)]
    assert found(pausable=going) == []


@pytest.mark.parametrize(
    ("snapshot", "at_work"),
    [
        ({"labelled": (installed(CLUSTER), installed(OTHER))}, ()),
        ({"labelled": (request(), request(OTHER))}, ()),
        ({"labelled": (installed(OTHER),)}, (CLUSTER,)),
    ],
    ids=["that has a status", "that has a request", "that has open workflows"],
)
def test_installation_that_left_something_is_known(
    snapshot: dict[str, Any], at_work: tuple[str, ...]
) -> None:
    assert is_installed(CLUSTER, Snapshot(now=NOW, **snapshot), at_work)


def test_installation_without_any_trace_is_gone_if_no_other_has_one_in_this_cluster() -> None:
    elsewhere, its = "prod-ffffffff", [{"manager": "operator", "time": NOW.isoformat()}]
    left = stored_lease(managedFields=its)
    snapshot = Snapshot(now=NOW, labelled=(request(elsewhere), left, installed(elsewhere)))

    assert not is_installed(CLUSTER, snapshot, [elsewhere])


@pytest.mark.parametrize(
    ("snapshot", "at_work"),
    [({"labelled": (installed(CLUSTER),)}, ()), ({"labelled": (request(),)}, ()), ({}, (CLUSTER,))],
)
def test_unknown_name_is_refused_with_the_names_that_there_are(
    snapshot: dict[str, Any], at_work: tuple[str, ...]
) -> None:
    with pytest.raises(NotFoundError) as refused:
        is_installed("prdo-1a2b3c4d", Snapshot(now=NOW, **snapshot), at_work)
    assert str(refused.value) == (
        "this cluster has no installation called prdo-1a2b3c4d, nothing was changed: it has prod-1a2b3c4d"
    )
    assert refused.value.code is ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"namespace": "other"}, "PARAMEDIC_NAMESPACE=ours, and other is given"),
        ({"lease_namespace": "other"}, "PARAMEDIC_LEASE_NAMESPACE=leases, and other is given"),
        ({"temporal": "other"}, "TEMPORAL_NAMESPACE=nodes, and other is given"),
    ],
)
def test_other_namespaces_than_those_of_the_installation_are_refused(
    given: dict[str, str], words: str
) -> None:
    known = installed(CLUSTER, lease_namespace="leases", temporal_namespace="nodes")
    other = installed(OTHER, lease_namespace="elsewhere")
    snapshot = Snapshot(now=NOW, labelled=(known, other))
    place = {"namespace": "ours", "lease_namespace": "leases", "temporal": "nodes"}

    def refuse(temporal: str, **namespaces: Any) -> None:
        refuse_other_place(CLUSTER, snapshot, Settings(cluster="prod", **namespaces), temporal)

    refuse(**place)
    refuse(**place | {"temporal": ""})
    with pytest.raises(NotFoundError, match=words):
        refuse(**place | given)


def test_lease_of_the_leader_is_known_and_names_the_running_one() -> None:
    leases = (lease(LEADER_LEASE, "leads"), lease("somebody", "else"))
    assert running_detectors(leases, NOW) == ("leads",)
    assert running_detectors([lease(LEADER_LEASE, "")], NOW) == ()
    assert running_detectors([lease(LEADER_LEASE, "died", renewed_ago=timedelta(minutes=1))], NOW) == ()


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


STARTED = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
SCHEDULED = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED


@pytest.mark.parametrize(
    ("name", "state", "found"),
    [
        (ACT.name, STARTED, [ACT.name]),
        (ACT.name, SCHEDULED, [ACT.name]),
        (SYNC_PAUSES.name, SCHEDULED, [SYNC_PAUSES.name]),
        (OBSERVE.name, STARTED, []),
        (OBSERVE_UPGRADE.name, SCHEDULED, []),
    ],
)
def test_activity_that_changes_the_cluster_is_awaited_as_soon_as_it_is_scheduled(
    name: str, state: PendingActivityState.ValueType, found: list[str]
) -> None:
    pending = PendingActivityInfo(activity_type=ActivityType(name=name), state=state)
    assert at_work([pending]) == found
