"""A Node that cannot be decoded affects only itself."""

from datetime import timedelta

import pytest

from health.model.observation import HoldReason, TargetState
from health.model.target import node_name
from tests.support.state.small_cluster import SmallCluster

LONG = timedelta(minutes=10)


@pytest.mark.rule("rule 8/node")
def test_node_that_cannot_be_read_is_held_alone_with_field_and_value() -> None:
    cluster = SmallCluster()
    cluster.check(minHealthy=0)
    for name in ("node-1", "node-2"):
        cluster.node(name, ready="Unknown", since=cluster.now - LONG)
    cluster.delete_node("node-1")  # the watch reports the Node as gone; the reason is kept separately
    problem = "status.conditions.0.type: should be a string"
    cluster.cluster_state.targets.put_undecodable(node_name("node-1"), problem)

    unread, other = cluster.observe("node-1"), cluster.observe("node-2")

    assert unread.state is TargetState.UNKNOWN
    assert unread.hold is not None
    assert unread.hold.reason is HoldReason.INVALID_TARGET
    assert "status.conditions.0.type: should be a string" in unread.hold.message
    assert other.state is TargetState.EXPIRED
    assert other.hold is None
