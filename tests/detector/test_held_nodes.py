"""The policy names the nodes of other controllers: such nodes are held until a remediation begins."""

from dataclasses import replace
from typing import Any

import pytest

from detector.answers.judged_target import JudgedTarget
from health.gate.admission import target_hold
from health.model.node import Node
from health.model.target import TargetName
from health.policy.held_nodes import HeldNodes
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW, condition, node_object

pytestmark = pytest.mark.rule("rule 43")

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


def test_remediation_that_is_under_way_goes_on_as_remediators_cordon_nodes_themselves() -> None:
    assert held(CORDONED, {"cordoned": True}, is_under_way=True) == ""
