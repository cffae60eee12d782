"""A finding of an act is kept for the uid of its target, as long as that target is unhealthy."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from detector.reporting.snapshot_builder import SnapshotBuilder
from health.check.check_snapshot import TargetSnapshot
from health.gate.back_off import NO_BACK_OFF
from health.model.node import Node
from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference
from health.model.target import TargetName
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, condition, node_object

LONG_AGO = NOW - timedelta(hours=1)
ETCD = Hold(reason=HoldReason.CONTROL_PLANE, message="etcd allows no disruption now")

pytestmark = pytest.mark.rule("rule 15")


def incident(uid: str = "uid-node-1") -> IncidentReference:
    return incident_of("node-1", uid=uid)


def fail(cluster: SmallCluster, uid: str = "") -> None:
    cluster.node("node-1", ready="Unknown", since=LONG_AGO, uid=uid)


def snapshot_of(cluster: SmallCluster) -> TargetSnapshot:
    snapshot = SnapshotBuilder(cluster.cluster_state, lambda *_: NO_BACK_OFF).of(CHECK, None, NOW)
    assert snapshot is not None
    return snapshot.targets["node-1"]


@pytest.fixture
def cluster() -> SmallCluster:
    one = SmallCluster()
    one.check(minHealthy=0)
    fail(one)
    return one


def test_finding_of_an_act_is_observed_and_reported_once(cluster: SmallCluster) -> None:
    told: list[str | None] = []
    cluster.cluster_state.event_handlers.add_change_handler(lambda _, target: told.append(target))
    assert not snapshot_of(cluster).is_heard
    for _ in range(2):
        cluster.cluster_state.found(incident(), ETCD)
    assert snapshot_of(cluster).found == ETCD
    assert snapshot_of(cluster).is_heard
    assert told == ["node-1", None]

    cluster.cluster_state.found(incident(), None)
    assert snapshot_of(cluster).found is None
    assert snapshot_of(cluster).is_heard
    assert told == ["node-1", None] * 2


def recover(cluster: SmallCluster) -> None:
    cluster.node("node-1")


def relabel(cluster: SmallCluster) -> None:
    other = node_object(condition("Ready", "Unknown", LONG_AGO), labels={}, name="node-1", uid="uid-node-1")
    cluster.cluster_state.target_changed(TargetName("Node", "", "node-1"), Node.model_validate(other))


def recreate_check(cluster: SmallCluster) -> None:
    cluster.delete_check()
    cluster.check(minHealthy=0)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(recover, id="the node recovers"),
        pytest.param(lambda cluster: cluster.delete_node("node-1"), id="the node goes"),
        pytest.param(lambda cluster: fail(cluster, "another"), id="another takes its name"),
        pytest.param(relabel, id="the check selects it no more"),
        pytest.param(recreate_check, id="the check is gone"),
        pytest.param(lambda cluster: cluster.cluster_state.act_findings.clear(), id="the lead begins"),
    ],
)
def test_finding_of_an_act_is_forgotten_when(
    cluster: SmallCluster, change: Callable[[SmallCluster], None]
) -> None:
    cluster.cluster_state.found(incident(), ETCD)
    change(cluster)
    fail(cluster)
    assert snapshot_of(cluster).found is None
    assert not snapshot_of(cluster).is_heard


def test_finding_of_an_act_is_over_when_the_request_appears(cluster: SmallCluster) -> None:
    cluster.cluster_state.found(incident(), ETCD)
    cluster.request("node-1")
    assert snapshot_of(cluster).found is None
    assert snapshot_of(cluster).is_heard

    cluster.cluster_state.found(incident(), ETCD)  # the finding of the next step
    cluster.request("node-1", old=True)
    assert snapshot_of(cluster).found == ETCD


def test_heartbeat_of_the_node_leaves_what_was_found(cluster: SmallCluster) -> None:
    cluster.cluster_state.found(incident(), ETCD)
    fail(cluster)
    assert snapshot_of(cluster).found == ETCD


def test_incident_of_an_earlier_target_of_that_name_says_nothing_of_the_one_that_is_there(
    cluster: SmallCluster,
) -> None:
    cluster.cluster_state.found(incident(), ETCD)
    cluster.cluster_state.found(incident("an-earlier-node"), None)
    assert snapshot_of(cluster).found == ETCD


def test_incident_of_a_node_that_has_recovered_says_nothing(cluster: SmallCluster) -> None:
    recover(cluster)
    cluster.cluster_state.found(incident(), ETCD)
    fail(cluster)
    assert snapshot_of(cluster).found is None
