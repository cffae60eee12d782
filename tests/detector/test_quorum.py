"""One member of a quorum at a time: how the cluster state shows the member that another one waits for."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from health.kinds.clusterapi.group import CLUSTER_NAME
from health.model.node import Node
from health.model.observation import HoldReason, Observation
from health.model.target import node_name
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from kube.lease import CONTROL_PLANE_LOCK, LeaseRecord, lock_of
from objects.timestamps import stamp
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_cluster_api import EDGE, OF_WEST, WEST, SmallClusterApi, machine_object
from tests.support.state.small_machines import SmallMachines
from tests.support.state.small_state import LONG_AGO, SmallState
from tests.support.values.builders import NOW, condition, node_object
from tests.support.values.cluster_api import LABELS, MACHINE_SET

pytestmark = pytest.mark.rule("rule 21", "rule 61")

ETCD = {"node-role.kubernetes.io/etcd": "true"}
MASTER = {"machine.openshift.io/cluster-api-machine-role": "master"}
RANCHER = LABELS | {"rke.cattle.io/etcd-role": "true"}
MARK = {"conditions": [condition("OwnerRemediated", "False") | {"reason": "WaitingForRemediation"}]}
WELL = {"conditions": [*MARK["conditions"], condition("HealthCheckSucceeded", "True")]}
CONTROL_PLANE = MACHINE_SET | {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
}
YOUNG = NOW - timedelta(minutes=20)


def why_held(observation: Observation) -> str:
    """Why a member waits for another one; "" if it may act."""
    hold = observation.hold
    assert hold is None or hold.reason is HoldReason.CONTROL_PLANE
    assert observation.may_be_admitted is (hold is None)
    return "" if hold is None else hold.message.removeprefix("one member of a quorum at a time: ")


def waits_for(small: SmallState, name: str, change: Any) -> str:
    """Why the target is held after a change, which must have notified it."""
    small.notified.clear()
    change()
    assert name in small.notified
    return why_held(small.observe(name))


@pytest.fixture
def nodes() -> SmallCluster:
    """Two of three etcd nodes of RKE2 have failed."""
    made = SmallCluster()
    made.check(minHealthy=0)
    made.node("a", labels={"role": "worker"} | ETCD)
    for name in ("b", "c"):
        made.node(name, ready="Unknown", since=LONG_AGO, labels={"role": "worker"} | ETCD)
    return made


def test_copy_of_the_state_without_checks_knows_every_member(nodes: SmallCluster) -> None:
    nodes.request("b", owner="Somebody")
    (entry,) = nodes.cluster_state.requests.all()
    quorum = nodes.cluster_state.quorum_of(entry)
    assert quorum is not None
    assert nodes.cluster_state.frozen().quorum_of(entry) == quorum


@pytest.mark.parametrize("owner", ["", "Somebody"], ids=["of the check", "of another owner"])
def test_etcd_node_waits_for_the_request_of_another_one_by_any_owner_and_without_a_label(
    nodes: SmallCluster, owner: str
) -> None:
    assert why_held(nodes.observe("b")) == ""
    held = waits_for(nodes, "c", lambda: nodes.request("b", owner=owner))
    assert held == "b has the lock, by the request Reboot/remediators/b"
    assert waits_for(nodes, "c", lambda: nodes.request("b", owner=owner, exists=False)) == ""


def test_node_with_a_label_of_the_policy_is_a_member_while_the_policy_names_it() -> None:
    nodes = SmallCluster()
    nodes.check(minHealthy=0)
    for name in ("b", "c"):
        nodes.node(name, ready="Unknown", since=LONG_AGO, labels={"role": "worker", "store": "consul"})
    nodes.request("b")
    assert why_held(nodes.observe("c")) == ""
    for labels, expected in (
        (("store=consul",), "b has the lock, by the request Reboot/remediators/b"),
        ((), ""),
    ):
        in_force = PolicyInForce(policy=Policy(quorum_labels=labels))
        nodes.cluster_state.take_context(replace(nodes.cluster_state.cluster_context, policy=in_force))
        assert why_held(nodes.observe("c")) == expected


def test_master_of_openshift_waits_until_the_deleted_one_is_replaced() -> None:
    small = SmallMachines()
    small.check()
    for name in ("a", "b", "c"):
        small.node(f"node-{name}", ready="True" if name == "a" else "Unknown")
        small.machine(name, node=f"node-{name}", labels=MASTER)
    assert why_held(small.observe("c")) == ""

    def delete() -> None:
        small.machine("b", node="node-b", labels=MASTER, deleted=NOW)

    def replace_it() -> None:
        small.machine("d", labels=MASTER, created=YOUNG)
        small.delete_machine("b")

    assert waits_for(small, "c", delete) == f"b is being deleted since {stamp(NOW)}"
    assert waits_for(small, "c", replace_it) == "d is new and has no Node yet"
    hold = small.observe("c").hold
    assert hold is not None
    assert hold.ask_again_seconds == timedelta(minutes=40).total_seconds()
    assert waits_for(small, "c", lambda: small.machine("d", node="node-a", labels=MASTER)) == ""


def test_node_waits_for_the_deleted_machine_of_another_one_and_not_for_its_own() -> None:
    small = SmallMachines()
    small.check()
    for name in ("b", "c"):
        small.node(f"node-{name}", ready="Unknown")
        small.machine(name, node=f"node-{name}", labels=MASTER, deleted=NOW if name == "b" else None)
    small.machine("beside-c", node="node-c", labels=MASTER, deleted=NOW)
    assert why_held(small.observe("c")) == f"b is being deleted since {stamp(NOW)}"
    small.delete_machine("b")
    assert why_held(small.observe("c")) == ""


@pytest.fixture
def machines() -> SmallClusterApi:
    """Two of Rancher's three Machines of the control plane have failed; a MachineSet owns them."""
    made = SmallClusterApi()
    made.check()
    for name in ("a", "b", "c"):
        made.node(name, "True" if name == "a" else "False")
        made.machine(rancher(name))
    return made


def rancher(name: str, **fields: Any) -> dict[str, Any]:
    return machine_object(name, **{"labels": RANCHER, "ownerReferences": [MACHINE_SET]} | fields)


def test_machine_of_a_machine_set_waits_until_the_marked_one_is_well_or_replaced(
    machines: SmallClusterApi,
) -> None:
    assert why_held(machines.observe("c")) == ""
    marked = waits_for(machines, "c", lambda: machines.machine(rancher("b", status=MARK)))
    assert marked == "b is marked for remediation"
    assert waits_for(machines, "c", lambda: machines.machine(rancher("b", status=WELL))) == ""
    assert waits_for(machines, "c", lambda: machines.machine(rancher("b", status=MARK))) != ""
    assert waits_for(machines, "c", lambda: machines.machine(rancher("b"))) == ""
    machines.machine(rancher("b", deletionTimestamp=stamp(NOW), status=MARK))
    assert why_held(machines.observe("c")) == f"b is being deleted since {stamp(NOW)}"


def test_machines_of_a_control_plane_are_all_marked_so_that_it_can_choose(machines: SmallClusterApi) -> None:
    machines.machine(rancher("b", status=MARK))
    machines.machine(rancher("c", ownerReferences=[CONTROL_PLANE]))
    assert why_held(machines.observe("c")) == ""


def test_request_for_a_machine_takes_a_turn_whoever_owns_the_machine(machines: SmallClusterApi) -> None:
    template = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3RemediationTemplate"}
    machines.check(remediation={"templateRef": template | {"name": "reboot"}})
    for name in ("b", "c"):
        machines.machine(rancher(name, ownerReferences=[CONTROL_PLANE]))
    assert waits_for(machines, "c", lambda: machines.request("b")).startswith(
        "b has the lock, by the request"
    )


def test_machine_waits_for_the_request_of_another_operator_for_a_member_that_no_check_selects(
    machines: SmallClusterApi,
) -> None:
    unselected = {CLUSTER_NAME: "edge", "rke.cattle.io/etcd-role": "true"}
    machines.machine(rancher("b", labels=unselected))
    assert waits_for(machines, "c", lambda: machines.request("b")).startswith("b has the lock")
    machines.machine(rancher("b", labels={CLUSTER_NAME: "edge"}))
    assert why_held(machines.observe("c")) == ""


def test_members_of_other_clusters_do_not_wait_for_each_other(machines: SmallClusterApi) -> None:
    machines.check("west", clusterName="west")
    machines.node("w", "False", in_cluster=WEST)
    machines.machine(rancher("w", labels=OF_WEST | {CLUSTER_NAME: "west", "rke.cattle.io/etcd-role": "true"}))
    machines.machine(rancher("b", status=MARK))
    machines.cluster_state.lease_changed(lock_of(EDGE), lease(lock_of(EDGE)))
    assert why_held(machines.observe("c")) != ""
    assert why_held(machines.observe("w", check="west")) == ""
    machines.notified.clear()
    machines.cluster_state.lease_changed(lock_of(WEST), lease(lock_of(WEST)))
    assert set(machines.notified) == {"w"}
    assert why_held(machines.observe("w", check="west")) == "another check/x has the lock"


@pytest.mark.parametrize("is_itself", [True, False])
def test_machine_of_a_cluster_that_manages_itself_waits_for_nodes_here_too(
    machines: SmallClusterApi, *, is_itself: bool
) -> None:
    def deleted(name: str) -> Node:
        metadata = {"name": name, "uid": name, "deletionTimestamp": stamp(NOW)}
        return Node.model_validate(node_object(labels=ETCD, **metadata))

    state = machines.cluster_state
    context = replace(machines.context, self_managed=frozenset({EDGE} if is_itself else ()))
    state.take_context(context)
    machines.notified.clear()
    state.lease_changed(CONTROL_PLANE_LOCK, lease(CONTROL_PLANE_LOCK))
    assert ("c" in machines.notified) is is_itself
    assert why_held(machines.observe("c")) == ("another check/x has the lock" if is_itself else "")
    state.lease_changed(CONTROL_PLANE_LOCK, None)

    state.target_changed(node_name("c"), deleted("c"))
    assert why_held(machines.observe("c")) == ""
    machines.notified.clear()
    state.target_changed(node_name("x"), deleted("x"))
    assert ("c" in machines.notified) is is_itself
    assert why_held(machines.observe("c")) == (f"x is being deleted since {stamp(NOW)}" if is_itself else "")


def lease(name: str) -> LeaseRecord:
    metadata = {"name": name, "uid": "u", "resourceVersion": "1", "creationTimestamp": stamp(NOW)}
    spec = {"holderIdentity": "another check/x", "leaseDurationSeconds": 600, "renewTime": stamp(NOW)}
    return LeaseRecord.model_validate({"metadata": metadata, "spec": spec})
