"""Who else has a node: by its Lease, or by a request alone, as the cluster state shows it."""

from datetime import timedelta

import pytest

from detector.answers.observation_builder import CheckFreshness, ObservationBuilder
from health.model.observation import Hold, HoldReason
from kube.lease import LeaseRecord
from objects.timestamps import stamp
from tests.detector.small_cluster import SmallCluster, incident_of
from tests.objects import NOW

LONG_AGO = NOW - timedelta(hours=1)
FRESH = CheckFreshness(age=timedelta(0), limit=timedelta(seconds=60))


def lease_of(holder: str) -> LeaseRecord:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 600, "renewTime": stamp(NOW)}
    metadata = {"name": "node-node-1", "uid": "u", "resourceVersion": "1", "creationTimestamp": stamp(NOW)}
    return LeaseRecord.model_validate({"metadata": metadata, "spec": spec})


@pytest.fixture
def cluster() -> SmallCluster:
    """With a node that is due, and a request for it that nobody we know owns."""
    one = SmallCluster()
    one.check()
    for number in range(1, 4):
        one.node(f"node-{number}")
    one.node("node-1", ready="Unknown", since=LONG_AGO)
    one.request("node-1", owner="Somebody")
    return one


def hold_of(cluster: SmallCluster) -> Hold | None:
    builder = ObservationBuilder(cluster.cluster_state, incident_of("node-1"), FRESH, cluster.now)
    return builder.observation().hold


@pytest.mark.rule("rule 13")
def test_node_that_another_has_by_a_request_alone_is_not_told_to_be_held_by_a_lease(
    cluster: SmallCluster,
) -> None:
    hold = hold_of(cluster)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN_BY_REQUEST
    assert hold.message == "another owner has the request Reboot/remediators/node-1 for it"


@pytest.mark.rule("rule 13")
def test_lease_of_our_own_is_not_what_holds_a_node(cluster: SmallCluster) -> None:
    cluster.cluster_state.lease_changed("node-node-1", lease_of("NodeHealthCheck-workers"))
    hold = hold_of(cluster)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN_BY_REQUEST


@pytest.mark.rule("rule 13")
def test_node_that_others_have_by_both_is_told_both(cluster: SmallCluster) -> None:
    cluster.cluster_state.lease_changed("node-node-1", lease_of("maintenance"))
    hold = hold_of(cluster)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN
    assert hold.message == (
        "another owner has the request Reboot/remediators/node-1 for it, and maintenance holds its Lease"
    )
