"""The state of a deleted node's incident, when another node has the same name.

A Machine is different: without its Node it is unhealthy, not gone, even if a remediator deletes the Node.
"""

from datetime import timedelta

import pytest

from health.model.moves import Move, Phase, RemoveRequests
from health.model.node import Node
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import IncidentReference
from health.model.remediation_request import RemediationRequest
from health.model.target import TargetName
from health.runbook.decide import next_move
from health.runbook.state import Memory
from health.runbook.wake_up import needs_wake_up
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.state.small_machines import CHECK as MACHINE_CHECK
from tests.support.state.small_machines import REQUEST_KIND, SmallMachines
from tests.support.values.builders import NOW, node_object
from tests.support.values.openshift import TEMPLATE

LONG_AGO = NOW - timedelta(hours=1)
EARLIER, OTHER = "uid-node-1", "uid-other"


@pytest.fixture
def cluster() -> SmallCluster:
    """A request for a node that is gone."""
    one = SmallCluster()
    one.check(minHealthy=0)
    one.node("node-1", ready="Unknown", since=LONG_AGO)
    one.request("node-1")
    one.delete_node("node-1")
    return one


def observed(cluster: SmallCluster, uid: str = EARLIER) -> Observation:
    return cluster.observe("node-1", uid=uid)


def incident(uid: str) -> IncidentReference:
    return incident_of("node-1", uid=uid)


@pytest.mark.rule("NHC 2.1/12/PermanentNodeDeletionExpected", "rule 11/recreated")
@pytest.mark.parametrize("ready", ["True", "Unknown"])
def test_incident_of_a_node_that_is_gone_is_woken_when_another_of_its_name_is_selected(
    cluster: SmallCluster, ready: str
) -> None:
    gone = observed(cluster)
    told: list[str | None] = []
    cluster.cluster_state.event_handlers.add_change_handler(lambda _, target: told.append(target))
    cluster.node("node-1", ready=ready, since=LONG_AGO, uid=OTHER)
    now = observed(cluster)

    assert "node-1" in told
    assert (gone.state, gone.is_replaced) == (TargetState.GONE, False)
    assert (now.state, now.is_replaced) == (TargetState.GONE, True)
    assert needs_wake_up(gone, now)
    assert [request.uid for request in now.requests] == ["request-node-1"]


@pytest.mark.rule("NHC 2.1/12/PermanentNodeDeletionExpected")
def test_another_of_its_name_that_the_check_does_not_select_changes_nothing(cluster: SmallCluster) -> None:
    gone = observed(cluster)
    other = Node.model_validate(node_object(labels={}, name="node-1", uid=OTHER))
    cluster.cluster_state.target_changed(TargetName("Node", "", "node-1"), other)
    now = observed(cluster)

    assert (now.state, now.is_replaced) == (TargetState.GONE, False)
    assert now.reason == "Node/node-1 is gone; the new object of its name is not selected"
    assert not needs_wake_up(gone, now)


@pytest.mark.rule("rule 11/recreated")
def test_new_node_has_an_incident_of_its_own_that_waits_for_the_request_of_the_earlier_one(
    cluster: SmallCluster,
) -> None:
    cluster.node("node-1", ready="Unknown", since=LONG_AGO, uid=OTHER)
    held = observed(cluster, OTHER)

    assert cluster.cluster_state.wanted(CHECK, "node-1") == {incident(EARLIER), incident(OTHER)}
    assert held.state is TargetState.EXPIRED
    assert held.requests == ()
    assert held.hold is not None
    assert held.hold.reason is HoldReason.EARLIER_REQUEST

    cluster.delete_request("node-1")
    now = observed(cluster, OTHER)
    assert now.may_be_admitted
    assert needs_wake_up(held, now)


@pytest.mark.rule("MHC A.2.3/3")
def test_machine_whose_node_is_away_keeps_a_request_that_expects_that_until_its_node_is_back() -> None:
    machines = SmallMachines()
    machines.check(remediationTemplate=TEMPLATE)
    machines.node("node-1")
    machines.machine("machine-1", node="node-1")
    machines.unsigned_request("machine-1")
    _expect_the_end_of_its_node(machines)

    machines.delete_node("node-1")
    assert _move(machines).phase is Phase.REMEDIATING
    machines.node("node-1")
    assert isinstance(_move(machines), RemoveRequests)


def _expect_the_end_of_its_node(machines: SmallMachines) -> None:
    (entry,) = machines.cluster_state.requests.of(MACHINE_CHECK, "machine-1")
    status = {"conditions": [{"type": "PermanentNodeDeletionExpected", "status": "True"}]}
    told = entry.request.model_dump(by_alias=True) | {"status": status}
    machines.cluster_state.request_changed(
        *REQUEST_KIND, RemediationRequest.model_validate(told), exists=True
    )


def _move(machines: SmallMachines) -> Move:
    seen = machines.observe("machine-1")
    (request,) = seen.requests
    assert request.is_node_deletion_expected
    return next_move(seen, Memory(), machines.now)
