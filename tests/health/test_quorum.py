"""Members of a quorum: when one of them waits for another, and the guard of etcd of OpenShift."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.etcd_disruption import DisruptionBudget, GuardPod, objection
from health.model.references import Action
from health.model.target import Target
from health.policy.quorum import JOINS_WITHIN, MemberWait, is_member, takes_turns, wait_for
from objects.timestamps import stamp
from tests.support.values import cluster_api, openshift
from tests.support.values.builders import NOW, condition, node

ETCD = {"node-role.kubernetes.io/etcd": "true"}
MARKED, WELL = condition("OwnerRemediated", "False"), condition("HealthCheckSucceeded", "True")


def control_plane(api_version: str) -> dict[str, Any]:
    return cluster_api.MACHINE_SET | {"apiVersion": api_version, "kind": "KubeadmControlPlane"}


@pytest.mark.rule("rule 21", "rule 61", "NHC 1.7/node-role")
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"node-role.kubernetes.io/control-plane": ""}, True),
        ({"node-role.kubernetes.io/control-plane": "anything"}, True),
        ({"node-role.kubernetes.io/master": ""}, True),
        ({"node-role.kubernetes.io/master": "true"}, True),
        (ETCD, True),
        ({"node-role.kubernetes.io/controlplane": "true"}, True),
        ({"node-role.kubernetes.io/arbiter": ""}, True),
        ({"node.kubernetes.io/microk8s-controlplane": "microk8s-controlplane"}, True),
        ({"node.k0sproject.io/role": "control-plane"}, True),
        ({"kubernetes.io/role": "master"}, True),
        ({"cluster.x-k8s.io/control-plane": ""}, True),
        ({"cluster.x-k8s.io/etcd-cluster": "east-etcd"}, True),
        ({"rke.cattle.io/control-plane-role": "true"}, True),
        ({"rke.cattle.io/etcd-role": "true"}, True),
        ({"machine.openshift.io/cluster-api-machine-role": "master"}, True),
        ({"machine.openshift.io/cluster-api-machine-role": "arbiter"}, True),
        ({}, False),
        ({"node-role.kubernetes.io/worker": "true"}, False),
        ({"node.k0sproject.io/role": "worker"}, False),
        ({"kubernetes.io/role": "node"}, False),
        ({"rke.cattle.io/etcd-role": "false"}, False),
        ({"rke.cattle.io/worker-role": "true"}, False),
        ({"machine.openshift.io/cluster-api-machine-role": "worker"}, False),
    ],
    ids=str,
)
def test_member_is_known_by_a_label_of_its_distribution_on_node_or_machine(
    labels: dict[str, str], *, expected: bool
) -> None:
    of_openshift = openshift.target()
    of_cluster_api = cluster_api.target()
    targets: list[Target] = [
        node(labels=labels),
        openshift.target(labels=labels),
        type(of_openshift)(of_openshift.machine, node(labels=labels)),
        cluster_api.target(labels=labels),
        type(of_cluster_api)(of_cluster_api.machine, node(labels=labels)),
        cluster_api.with_lost_node(labels=labels),
    ]
    assert [is_member(target) for target in targets] == [expected] * len(targets)


@pytest.mark.rule("rule 61")
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ((), False),
        (("example.com/role",), True),
        (("example.com/role=consul",), True),
        (("example.com/role=web", "example.com/role=consul"), True),
        (("example.com/role=web",), False),
        (("example.com/role=",), False),
        (("example.com/other",), False),
    ],
)
def test_policy_adds_labels_of_members(more: tuple[str, ...], *, expected: bool) -> None:
    assert is_member(node(labels={"example.com/role": "consul"}), more) is expected
    assert is_member(node(labels=ETCD), more), "those of the distributions stay"


@pytest.mark.rule("rule 61", "rule 61/owner", "CAPI B.2.5/mark")
@pytest.mark.parametrize(
    ("target", "action", "expected"),
    [
        pytest.param(node(labels=ETCD), Action.REQUEST, True, id="Node"),
        pytest.param(node(), Action.REQUEST, False, id="Node of a worker"),
        pytest.param(cluster_api.target(labels=ETCD), Action.MARK, True, id="Machine of a MachineSet"),
        pytest.param(cluster_api.target(labels=ETCD, owners=()), Action.MARK, True, id="without an owner"),
        pytest.param(
            cluster_api.target(labels=ETCD, owners=(control_plane("controlplane.cluster.x-k8s.io/v1beta2"),)),
            Action.MARK,
            False,
            id="of a control plane",
        ),
        pytest.param(
            cluster_api.target(
                labels=ETCD, owners=(control_plane("controlplane.cluster.x-k8s.io/v1alpha1"),)
            ),
            Action.MARK,
            False,
            id="of a control plane of another provider and version",
        ),
        pytest.param(
            cluster_api.target(labels=ETCD, owners=(control_plane("controlplane.cluster.x-k8s.io/v1beta2"),)),
            Action.REQUEST,
            True,
            id="of a control plane that no request asks",
        ),
        pytest.param(
            cluster_api.target(
                labels=ETCD,
                owners=(control_plane("controlplane.cluster.x-k8s.io/v1beta2") | {"controller": False},),
            ),
            Action.MARK,
            True,
            id="of a control plane that is not its controller",
        ),
        pytest.param(
            cluster_api.target(labels=ETCD, owners=(control_plane("rke.cattle.io/v1"),)),
            Action.MARK,
            True,
            id="of a control plane that is none of Cluster API",
        ),
        pytest.param(openshift.target(labels=ETCD), Action.DELETE, True, id="Machine of OpenShift"),
        pytest.param(openshift.target(labels=ETCD), Action.MARK, True, id="marked Machine of OpenShift"),
        pytest.param(openshift.target(), Action.DELETE, False, id="worker of OpenShift"),
    ],
)
def test_step_on_a_member_takes_turns_unless_a_control_plane_is_asked(
    target: Target, action: Action, *, expected: bool
) -> None:
    assert takes_turns(target, action) is expected


YOUNG = NOW - timedelta(minutes=20)


@pytest.mark.rule("rule 61")
@pytest.mark.parametrize(
    ("of_other", "expected"),
    [
        pytest.param({}, None, id="well"),
        pytest.param({"is_going": True}, MemberWait(f"is being deleted since {stamp(NOW)}"), id="deleted"),
        pytest.param({"conditions": [MARKED]}, MemberWait("is marked for remediation"), id="marked"),
        pytest.param({"conditions": [MARKED, WELL]}, None, id="marked, and well again"),
        pytest.param(
            {"node_name": "", "created": YOUNG},
            MemberWait("is new and has no Node yet", YOUNG + JOINS_WITHIN),
            id="a replacement that has not joined",
        ),
        pytest.param({"node_name": "", "created": NOW - JOINS_WITHIN}, None, id="one that never joined"),
        pytest.param({"is_going": True, "labels": {}}, None, id="a worker"),
        pytest.param({"is_going": True, "node_name": "node-1"}, None, id="another object with its Node"),
    ],
)
def test_member_waits_until_the_one_before_it_is_well_or_replaced(
    of_other: dict[str, Any], expected: MemberWait | None
) -> None:
    conditions = of_other.get("conditions", [])
    fields = {key: value for key, value in of_other.items() if key != "conditions"}
    other = cluster_api.machine(*conditions, **{"node_name": "node-2", "labels": ETCD} | fields)
    waits = wait_for(cluster_api.target(of=other), node(labels=ETCD), NOW)

    assert waits == expected


@pytest.mark.rule("rule 61")
def test_machine_that_never_joined_waits_for_no_other_new_one_and_for_those_on_their_way_out() -> None:
    new = openshift.without_node(labels=ETCD)
    joining = cluster_api.without_node(labels=ETCD, created=YOUNG, uid="other")
    going = cluster_api.without_node(labels=ETCD, is_going=True, uid="other")

    assert wait_for(joining, new, NOW) is None
    assert wait_for(going, new, NOW) == MemberWait(f"is being deleted since {stamp(NOW)}")


@pytest.mark.rule("rule 61")
def test_member_does_not_wait_for_itself() -> None:
    target = cluster_api.without_node(labels=ETCD, is_going=True)
    assert wait_for(target, target, NOW) is None


NODE = "master-1"
GUARD = {"app": "guard"}


def budget(allowed: int | None) -> DisruptionBudget:
    status = {} if allowed is None else {"disruptionsAllowed": allowed}
    return DisruptionBudget.model_validate(
        {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": GUARD}}, "status": status}
    )


def pod(node: str | None, ready: str | None, labels: dict[str, str] | None = None) -> GuardPod:
    conditions: list[dict[str, Any]] = [{"type": "Initialized", "status": "True"}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": ready})
    return GuardPod.model_validate(
        {
            "metadata": {"name": "guard", "labels": GUARD if labels is None else labels},
            "spec": {} if node is None else {"nodeName": node},
            "status": {"conditions": conditions},
        }
    )


@pytest.mark.rule("NHC 2.4/1/etcd")
@pytest.mark.parametrize(
    ("allowed", "pods", "may_go"),
    [
        pytest.param(1, [pod(NODE, "True")], True, id="a disruption is allowed"),
        pytest.param(2, [pod(NODE, "True")], True, id="two are"),
        pytest.param(0, [pod(NODE, "True")], False, id="none is, and this node is ready"),
        pytest.param(0, [pod(NODE, "Unknown")], False, id="nobody knows whether this node is ready"),
        pytest.param(0, [pod(NODE, "False")], True, id="this node is the disrupted one"),
        pytest.param(0, [pod(NODE, None)], True, id="its guard says nothing"),
        pytest.param(0, [], True, id="no guard at all"),
        pytest.param(0, [pod("master-2", "True")], True, id="no guard on this node"),
        pytest.param(0, [pod(None, "True")], True, id="a guard that is not placed yet"),
        pytest.param(0, [pod("master-2", "False"), pod(NODE, "True")], False, id="another is disrupted"),
        pytest.param(0, [pod(NODE, "False"), pod(NODE, "True")], False, id="one of two guards is ready"),
        pytest.param(0, [pod(NODE, "True", {"app": "etcd"})], True, id="a Pod that is no guard"),
        pytest.param(None, [pod(NODE, "True")], False, id="a budget without a status"),
    ],
)
def test_node_goes_if_etcd_can_spare_it(allowed: int | None, pods: list[GuardPod], *, may_go: bool) -> None:
    why = objection(NODE, [budget(allowed)], pods)
    assert (why == "") is may_go
    if why:
        assert why == "preventing control plane / etcd quorum loss: etcd allows no disruption now"


@pytest.mark.rule("NHC 2.4/1/etcd")
@pytest.mark.parametrize("count", [0, 2, 3])
def test_anything_but_one_budget_keeps_the_node(count: int) -> None:
    why = objection(NODE, [budget(1)] * count, [pod(NODE, "False")])
    assert why.endswith(f"{count} disruption budgets in openshift-etcd, where one is expected")


PODS = st.lists(
    st.builds(pod, st.sampled_from([NODE, "master-2"]), st.sampled_from(["True", "False", "Unknown", None]))
)


@pytest.mark.rule("NHC 2.4/1/etcd")
@given(pods=PODS)
def test_guards_of_other_nodes_decide_nothing(pods: list[GuardPod]) -> None:
    mine = [one for one in pods if one.spec.node_name == NODE]
    assert objection(NODE, [budget(0)], pods) == objection(NODE, [budget(0)], mine)
