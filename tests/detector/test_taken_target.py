"""How the cluster state shows a node that another controller has: by a Lease, a request, or the policy."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detector.answers.judged_target import JudgedTarget
from health.gate.admission import target_hold
from health.model.node import Node
from health.model.observation import Hold, HoldReason
from health.model.target import TargetName
from health.policy.held_nodes import HeldNodes
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from kube.lease import CONTROL_PLANE_LOCK, TARGET_UID, LeaseRecord
from objects.timestamps import stamp
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW, condition, node_object

LONG_AGO = NOW - timedelta(hours=1)
MASTER = {"role": "worker", "node-role.kubernetes.io/master": ""}


def lease_of(holder: str, uid: str = "", name: str = "node-node-1") -> LeaseRecord:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 600,
        "renewTime": stamp(NOW),
        "acquireTime": stamp(NOW),
    }
    metadata = {"name": name, "uid": "u", "resourceVersion": "1", "creationTimestamp": stamp(NOW)}
    annotations = {"annotations": {TARGET_UID: uid}} if uid else {}
    return LeaseRecord.model_validate({"metadata": metadata | annotations, "spec": spec})


@pytest.fixture
def cluster() -> SmallCluster:
    """An expired node, and a request for it with an unknown owner."""
    one = SmallCluster()
    one.check()
    for number in range(1, 4):
        one.node(f"node-{number}")
    one.node("node-1", ready="Unknown", since=LONG_AGO)
    one.request("node-1", owner="Somebody")
    return one


def hold_of(cluster: SmallCluster) -> Hold | None:
    return cluster.observe("node-1").hold


@pytest.mark.rule("rule 13")
def test_node_that_another_holds_by_a_request_alone_is_not_reported_as_held_by_a_lease(
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
def test_node_that_others_hold_by_both_is_reported_with_both(cluster: SmallCluster) -> None:
    cluster.cluster_state.lease_changed("node-node-1", lease_of("maintenance"))
    hold = hold_of(cluster)
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN
    assert hold.message == (
        "another owner has the request Reboot/remediators/node-1 for it, and maintenance holds its Lease"
    )


@pytest.mark.rule("rule 11", "rule 13")
@pytest.mark.parametrize(("uid", "is_held"), [("uid-node-1", False), ("", False), ("earlier", True)])
def test_lease_that_our_check_holds_for_an_earlier_node_of_the_name_holds_this_one(
    uid: str, *, is_held: bool
) -> None:
    cluster = SmallCluster()
    cluster.check()
    for number in range(1, 4):
        cluster.node(f"node-{number}")
    cluster.node("node-1", ready="Unknown", since=LONG_AGO)
    cluster.cluster_state.lease_changed("node-node-1", lease_of("NodeHealthCheck-workers", uid))
    hold = hold_of(cluster)

    assert (hold is not None) is is_held
    assert (cluster.observe("node-1").lease_acquired_at is None) is is_held
    if hold is not None:
        assert hold.reason is HoldReason.TAKEN
        assert hold.message == (
            "NodeHealthCheck-workers (for an earlier target of this name) holds its Lease"
        )
        assert hold.ask_again_seconds == 600


@pytest.mark.rule("rule 11", "rule 21")
@pytest.mark.parametrize(("uid", "is_held"), [("uid-node-1", False), ("earlier", True)])
def test_lock_that_our_check_holds_for_an_earlier_node_of_the_name_holds_this_one(
    uid: str, *, is_held: bool
) -> None:
    cluster = SmallCluster()
    cluster.check()
    for number in range(1, 4):
        cluster.node(f"node-{number}")
    cluster.node("node-1", ready="Unknown", since=LONG_AGO, labels=MASTER)
    cluster.cluster_state.lease_changed(
        CONTROL_PLANE_LOCK, lease_of(CHECK.lock_holder("node-1"), uid, CONTROL_PLANE_LOCK)
    )
    hold = hold_of(cluster)

    assert (hold.reason if hold else None) == (HoldReason.CONTROL_PLANE if is_held else None)


CORDONED = {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unschedulable"}]}
TAINTED = {"taints": [{"key": "other"}, {"key": "example.com/maintenance", "effect": "NoSchedule"}]}


def held(spec: dict[str, Any], policy: dict[str, Any], *, is_under_way: bool = False) -> str:
    cluster = SmallCluster()
    in_force = PolicyInForce(policy=Policy(held_nodes=HeldNodes.model_validate(policy)))
    cluster.cluster_state.take_context(replace(cluster.cluster_state.cluster_context, policy=in_force))
    cluster.check()
    body = node_object(condition("Ready", "Unknown", NOW), name="a", uid="uid-a", labels={"role": "worker"})
    node = Node.model_validate(body | {"spec": spec})
    cluster.cluster_state.target_changed(TargetName("Node", "", "a"), node)
    if is_under_way:
        cluster.request("a")
    check = cluster.cluster_state.checks[CHECK].check
    assert check is not None
    return str(target_hold(JudgedTarget(cluster.cluster_state, check, node, NOW).facts) or "")


@pytest.mark.rule("rule 43")
@pytest.mark.parametrize(
    ("spec", "policy", "expected"),
    [
        (CORDONED, {}, ""),
        (CORDONED, {"cordoned": True}, "NodeMaintenance: its Node is under maintenance: it is cordoned"),
        (TAINTED, {"cordoned": True}, ""),
        (
            TAINTED,
            {"tainted": ["example.com/maintenance"]},
            "NodeMaintenance: its Node is under maintenance: it has the taint example.com/maintenance",
        ),
        ({"taints": None}, {"tainted": ["example.com/maintenance"]}, ""),
    ],
)
def test_node_is_left_alone_while_what_the_policy_names_says_so(
    spec: dict[str, Any], policy: dict[str, Any], expected: str
) -> None:
    assert held(spec, policy) == expected


@pytest.mark.rule("rule 43")
def test_remediation_that_is_under_way_goes_on_as_remediators_cordon_nodes_themselves() -> None:
    assert held(CORDONED, {"cordoned": True}, is_under_way=True) == ""
