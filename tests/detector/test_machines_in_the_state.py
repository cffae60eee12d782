"""Machines with their Nodes: how the cluster state counts them and answers their incidents."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from health.model.observation import HoldReason, TargetState
from health.model.references import Action
from health.runbook.wake_up import needs_wake_up
from kube.lease import LeaseRecord, name_for, name_for_node
from objects.timestamps import stamp
from tests.support.state.small_machines import CHECK, SmallMachines
from tests.support.state.small_state import LONG_AGO
from tests.support.values.builders import NOW
from tests.support.values.openshift import EXTERNAL, NAMESPACE, PAUSED, TEMPLATE

MINUTE = timedelta(minutes=1)
LATELY = NOW - 2 * MINUTE


@pytest.fixture
def cluster() -> SmallMachines:
    made = SmallMachines()
    made.check()
    for number in (1, 2, 3):
        made.node(f"node-{number}")
        made.machine(f"machine-{number}", node=f"node-{number}")
    return made


@pytest.mark.rule("MHC A.1/selector")
def test_machines_of_other_namespaces_are_no_targets(cluster: SmallMachines) -> None:
    cluster.machine("stranger", node="node-1", namespace="elsewhere")
    cluster.node("node-1", ready="Unknown")
    assert cluster.numbers() == (2, 3)
    assert cluster.wanted() == {"machine-1"}


def test_failure_of_a_node_is_a_failure_of_its_machine(cluster: SmallMachines) -> None:
    cluster.notified.clear()
    cluster.node("node-1", ready="Unknown")
    assert "machine-1" in cluster.notified
    seen = cluster.observe("machine-1")
    assert (seen.state, seen.hold, seen.steps[0].action) == (TargetState.EXPIRED, None, Action.DELETE)
    assert seen.replaced_by == "MachineSet/workers-a"


@pytest.mark.rule("MHC A.2.1/shared Node")
def test_two_machines_with_one_node_are_both_unhealthy(cluster: SmallMachines) -> None:
    cluster.machine("machine-2", node="node-1")
    cluster.notified.clear()
    cluster.node("node-1", ready="Unknown")
    assert {"machine-1", "machine-2"} <= set(cluster.notified)
    assert cluster.wanted() == {"machine-1", "machine-2"}
    assert cluster.numbers() == (1, 3)
    for name in ("machine-1", "machine-2"):
        assert cluster.observe(name).may_be_admitted


@pytest.mark.rule("MHC A.2.1/Machine", "MHC A.1/selector")
def test_label_brings_a_machine_into_a_check_and_out_of_it_at_once(cluster: SmallMachines) -> None:
    cluster.check(selector={"matchExpressions": [{"key": "pool", "operator": "Exists"}]})
    cluster.node("node-1", ready="Unknown")
    assert cluster.numbers() == (0, 0)
    assert cluster.wanted() == set()
    cluster.notified.clear()
    cluster.machine("machine-1", node="node-1", labels={"pool": "a"})
    assert {"machine-1", None} <= set(cluster.notified)
    assert cluster.observe("machine-1").may_be_admitted
    assert cluster.numbers() == (0, 1)
    cluster.notified.clear()
    cluster.machine("machine-1", node="node-1")
    assert {"machine-1", None} <= set(cluster.notified)
    assert cluster.observe("machine-1").state is TargetState.RELEASED


@pytest.mark.rule("MHC A.2.1/check", "rule 8")
def test_check_that_cannot_be_read_says_so_to_its_own_incidents_alone_until_it_can(
    cluster: SmallMachines,
) -> None:
    cluster.check(name="beside")
    cluster.node("node-1", ready="Unknown")
    cluster.notified.clear()
    cluster.check(maxUnhealthy=-1)
    assert {"machine-1", None} <= set(cluster.notified)
    hold = cluster.observe("machine-1").hold
    assert hold is not None
    assert hold.reason is HoldReason.INVALID_CHECK
    assert cluster.observe("machine-1", check="beside").may_be_admitted
    cluster.check(maxUnhealthy=1)
    assert cluster.observe("machine-1").may_be_admitted


def test_machine_that_is_linked_later_is_judged_by_its_node_from_then_on(cluster: SmallMachines) -> None:
    cluster.machine("machine-4", created=NOW)
    assert cluster.observe("machine-4").state is TargetState.WAITING
    cluster.node("node-4")
    cluster.machine("machine-4", node="node-4", created=NOW)
    assert cluster.observe("machine-4").state is TargetState.HEALTHY


def test_node_that_is_gone_is_noticed_at_once_and_its_return_too(cluster: SmallMachines) -> None:
    cluster.delete_node("node-1")
    assert cluster.observe("machine-1").state is TargetState.EXPIRED
    cluster.node("node-1")
    assert cluster.observe("machine-1").state is TargetState.HEALTHY


def test_machine_that_is_going_counts_as_unhealthy_and_has_no_incident_while_nothing_is_wrong(
    cluster: SmallMachines,
) -> None:
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    assert cluster.numbers() == (2, 3)
    assert cluster.wanted() == set()


def test_unhealthy_machine_that_is_going_is_waited_for(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    assert cluster.observe("machine-1").under_way == "machine-1 is being deleted"


def test_machine_without_a_controller_is_held_until_it_has_one(cluster: SmallMachines) -> None:
    cluster.machine("machine-1", node="node-1", owners=())
    cluster.node("node-1", ready="Unknown")
    hold = cluster.observe("machine-1").hold
    assert hold is not None
    assert hold.reason is HoldReason.NO_CONTROLLER
    cluster.notified.clear()
    cluster.machine("machine-1", node="node-1")
    assert "machine-1" in cluster.notified
    assert cluster.observe("machine-1").may_be_admitted


@pytest.mark.parametrize("lease", [name_for_node("node-1"), name_for("Machine", NAMESPACE, "machine-1")])
def test_machine_is_held_while_another_has_its_lease_or_that_of_its_node(
    cluster: SmallMachines, lease: str
) -> None:
    cluster.node("node-1", ready="Unknown")
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 600, "renewTime": stamp(NOW)}
    metadata = {"name": lease, "uid": "u", "resourceVersion": "1", "creationTimestamp": stamp(NOW)}
    cluster.notified.clear()
    cluster.cluster_state.lease_changed(
        lease, LeaseRecord.model_validate({"metadata": metadata, "spec": spec})
    )
    assert "machine-1" in cluster.notified
    hold = cluster.observe("machine-1").hold
    assert hold is not None
    assert hold.reason is HoldReason.TAKEN


@pytest.mark.rule("MHC A.2.8/clock")
def test_paused_check_answers_nothing_and_its_clocks_run_on(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.notified.clear()
    cluster.check(annotations=PAUSED)
    assert "machine-1" in cluster.notified
    seen = cluster.observe("machine-1")
    assert seen.state is TargetState.UNKNOWN
    assert seen.hold is not None
    assert seen.hold.reason is HoldReason.PAUSED
    cluster.check()
    assert cluster.observe("machine-1").may_be_admitted


def test_strategy_that_is_annotated_later_takes_effect_at_once(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.check(annotations=EXTERNAL)
    assert cluster.observe("machine-1").steps[0].action is Action.MARK


def test_incident_of_a_kind_that_is_switched_off_here_is_left_as_it_is(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    seen = cluster.observe("machine-1", is_handled=False)
    assert seen.state is TargetState.UNKNOWN
    assert seen.hold is not None
    assert seen.hold.reason is HoldReason.NOT_HANDLED


@pytest.mark.rule("rule 39")
@pytest.mark.parametrize("order", ["request first", "check first", "machine last"])
def test_request_that_the_operator_made_is_the_checks_that_has_its_machine(order: str) -> None:
    cluster = SmallMachines()
    template: dict[str, Any] = {"remediationTemplate": TEMPLATE}
    cluster.node("node-1")
    if order == "check first":
        cluster.check(**template)
    if order != "machine last":
        cluster.machine("machine-1", node="node-1")
    cluster.unsigned_request("machine-1")
    if order != "check first":
        cluster.check(**template)
    if order == "machine last":
        cluster.machine("machine-1", node="node-1")
    assert cluster.wanted() == {"machine-1"}
    assert [request.reference.name for request in cluster.observe("machine-1").requests] == ["machine-1"]


@pytest.mark.rule("rule 39")
def test_request_that_the_operator_made_stays_ours_when_the_check_is_deleted() -> None:
    cluster = SmallMachines()
    cluster.check(remediationTemplate=TEMPLATE)
    cluster.machine("machine-1")
    cluster.unsigned_request("machine-1")
    cluster.delete_check()
    seen = cluster.observe("machine-1")
    assert (seen.state, len(seen.requests)) == (TargetState.RELEASED, 1)


@pytest.mark.rule("rule 14", "rule 14/controller")
def test_machine_made_after_a_deletion_under_its_owner_waits_longer_each_time(
    cluster: SmallMachines,
) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    cluster.delete_machine("machine-1")

    cluster.machine("machine-4", created=NOW, phase="Failed")
    first = cluster.observe("machine-4")
    assert first.hold is not None
    assert first.hold.reason is HoldReason.BACK_OFF
    assert first.hold.ask_again_seconds == pytest.approx(60)
    cluster.now = NOW + MINUTE
    assert cluster.observe("machine-4").may_be_admitted

    cluster.machine("machine-4", created=NOW, phase="Failed", deleted=cluster.now)
    cluster.machine("machine-5", created=cluster.now, phase="Failed")
    second = cluster.observe("machine-5").hold
    assert second is not None
    assert second.ask_again_seconds == pytest.approx(120)


@pytest.mark.rule("rule 14", "rule 14/controller")
def test_machines_that_were_there_already_fail_side_by_side_without_delay(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.node("node-2", ready="Unknown")
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    assert cluster.observe("machine-2").may_be_admitted


@pytest.mark.rule("rule 14")
def test_machine_of_another_owner_is_not_delayed(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    other = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "controller": True}
    cluster.machine("machine-4", phase="Failed", owners=({**other, "name": "workers-b", "uid": "b"},))
    assert cluster.observe("machine-4").may_be_admitted


@pytest.mark.rule("rule 14")
def test_deletion_of_a_healthy_machine_delays_no_remediation(cluster: SmallMachines) -> None:
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    cluster.machine("machine-4", created=NOW, phase="Failed")
    assert cluster.observe("machine-4").may_be_admitted


@pytest.mark.rule("rule 14/controller", "rule 1")
def test_deletion_beside_a_machine_does_not_take_its_wait_away(cluster: SmallMachines) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.node("node-2", ready="Unknown")
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    cluster.machine("machine-4", created=NOW, phase="Failed")
    later = NOW + timedelta(seconds=20)
    cluster.machine("machine-2", node="node-2", deleted=later)

    cluster.now = NOW + timedelta(seconds=30)
    seen = cluster.observe("machine-4")
    assert seen.hold is not None
    assert seen.hold.ask_again_seconds == pytest.approx(30)
    assert seen.earlier_attempts == 1
    cluster.machine("machine-5", created=later, phase="Failed")
    other = cluster.observe("machine-5").hold
    assert other is not None
    assert other.ask_again_seconds == pytest.approx(50)


@pytest.mark.rule("rule 14/controller")
def test_request_for_a_machine_is_no_deletion_that_others_under_its_owner_would_wait_for() -> None:
    cluster = SmallMachines()
    cluster.check(remediationTemplate=TEMPLATE)
    cluster.node("node-1", ready="Unknown")
    cluster.machine("machine-1", node="node-1")
    assert cluster.observe("machine-1").replaced_by == ""


@pytest.mark.rule("rule 14/controller")
def test_incident_that_begins_while_its_check_is_paused_knows_the_controller_of_its_machine(
    cluster: SmallMachines,
) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.check(annotations=PAUSED)
    assert cluster.observe("machine-1").replaced_by == "MachineSet/workers-a"


@pytest.mark.rule("rule 14/controller")
def test_machine_that_was_healthy_until_its_deletion_delays_no_remediation_however_it_ends(
    cluster: SmallMachines,
) -> None:
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    cluster.node("node-1", ready="Unknown", since=NOW + MINUTE)  # its kubelet stops
    cluster.delete_node("node-1")
    assert cluster.wanted() == set()
    seen = cluster.observe("machine-1")
    assert (seen.state, seen.under_way) == (TargetState.HEALTHY, "machine-1 is being deleted")
    cluster.delete_machine("machine-1")
    cluster.machine("machine-4", created=NOW, phase="Failed")
    assert cluster.observe("machine-4").may_be_admitted


@pytest.mark.rule("rule 14/controller")
@pytest.mark.parametrize("is_read", [True, False])
def test_machine_whose_node_was_gone_and_that_is_deleted_then_counts_once_all_was_read(
    cluster: SmallMachines,
    is_read: bool,  # noqa: FBT001  a column of the table
) -> None:
    cluster.delete_node("node-1")
    cluster.is_read = is_read
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    assert cluster.wanted() == set()
    cluster.machine("machine-4", created=NOW, phase="Failed")
    assert cluster.observe("machine-4").earlier_attempts == int(is_read)


@pytest.mark.rule("rule 14/controller")
def test_machine_that_was_being_deleted_before_we_looked_counts_if_its_node_failed_earlier() -> None:
    cluster = SmallMachines()
    cluster.check()
    cluster.node("node-1", ready="Unknown")
    cluster.node("node-2", ready="Unknown", since=NOW + MINUTE)
    cluster.machine("machine-2", node="node-2", deleted=NOW)
    cluster.machine("machine-4", created=NOW, phase="Failed")
    assert cluster.observe("machine-4").earlier_attempts == 0
    cluster.machine("machine-1", node="node-1", deleted=NOW)
    assert cluster.observe("machine-4").earlier_attempts == 1


@pytest.mark.rule("rule 14/controller")
def test_machine_that_was_made_and_deleted_in_one_second_counts_once(cluster: SmallMachines) -> None:
    cluster.machine("machine-4", created=NOW, phase="Failed")
    for _ in range(3):
        cluster.machine("machine-4", created=NOW, phase="Failed", deleted=NOW)
    cluster.machine("machine-5", created=NOW, phase="Failed")
    assert cluster.observe("machine-5").earlier_attempts == 1


@pytest.mark.rule("rule 14/controller")
def test_of_two_deletions_in_one_second_the_later_one_in_a_row_counts(cluster: SmallMachines) -> None:
    for name in ("machine-1", "machine-2"):
        cluster.machine(name, phase="Failed")
    cluster.machine("machine-1", phase="Failed", deleted=NOW)
    cluster.machine("machine-4", created=NOW, phase="Failed")
    later = NOW + MINUTE
    cluster.machine("machine-2", phase="Failed", deleted=later)  # the first in its row
    cluster.machine("machine-4", created=NOW, phase="Failed", deleted=later)  # the second
    cluster.machine("machine-5", created=later, phase="Failed")
    assert cluster.observe("machine-5").earlier_attempts == 2


@pytest.mark.rule("rule 8/node")
def test_machine_whose_node_cannot_be_read_is_held_alone_with_field_and_value(cluster: SmallMachines) -> None:
    cluster.notified.clear()
    cluster.break_node("node-1", "status.conditions.0.type: should be a string")
    cluster.node("node-2", ready="Unknown")
    assert "machine-1" in cluster.notified
    seen = cluster.observe("machine-1")
    assert seen.state is TargetState.UNKNOWN
    assert seen.hold is not None
    assert seen.hold.reason is HoldReason.INVALID_TARGET
    assert seen.hold.message.startswith("Node node-1 of ")
    assert seen.hold.message.endswith("cannot be read: status.conditions.0.type: should be a string")
    assert cluster.observe("machine-2").may_be_admitted
    assert "machine-1" not in cluster.cluster_state.checks[CHECK].unhealthy
    assert "machine-1" in cluster.cluster_state.checks[CHECK].not_healthy


@pytest.mark.parametrize(
    ("lease", "told"),
    [
        (name_for_node("node-1"), {"machine-1"}),
        (name_for("Machine", NAMESPACE, "machine-2"), {"machine-2"}),
        (name_for("Machine", "elsewhere", "machine-2"), set()),
        (name_for_node("machine-1"), set()),
        ("leader", set()),
    ],
)
def test_lease_concerns_the_machine_that_it_names_and_no_other(
    cluster: SmallMachines, lease: str, told: set[str]
) -> None:
    cluster.node("node-1", ready="Unknown")
    cluster.node("node-2", ready="Unknown")
    cluster.notified.clear()
    cluster.cluster_state.lease_changed(lease, None)
    assert set(cluster.notified) == told


@pytest.mark.rule("MHC A.2.1/heartbeat")
@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_status_that_is_written_again_is_no_news(cluster: SmallMachines, phase: str) -> None:
    node = "" if phase == "Running" else "node-1"
    cluster.machine("machine-1", node=node, created=LATELY, phase=phase)
    before = cluster.observe("machine-1")
    cluster.machine("machine-1", node=node, created=LATELY + MINUTE, phase=phase)
    assert not needs_wake_up(before, cluster.observe("machine-1"))


@pytest.mark.rule("MHC A.2.1/heartbeat")
@pytest.mark.parametrize("since", [NOW - MINUTE, LONG_AGO], ids=["its timer runs", "its time is over"])
def test_heartbeat_of_a_node_that_failed_is_no_news(cluster: SmallMachines, since: datetime) -> None:
    cluster.node("node-1", ready="Unknown", since=since, heard_of=cluster.now)
    before = cluster.observe("machine-1")
    cluster.now += MINUTE
    cluster.node("node-1", ready="Unknown", since=since, heard_of=cluster.now)
    assert not needs_wake_up(before, cluster.observe("machine-1"))
