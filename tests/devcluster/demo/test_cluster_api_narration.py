"""The narration of the Cluster API demo for the objects that it saw."""

from devcluster.demo import cluster_api_narration
from devcluster.demo.facts import MachineSeen, MarkSeen, NodeSeen

MACHINE = MachineSeen("demo-x7k2p", "uid", NodeSeen("node-3", "uid", "boot"), "cluster.x-k8s.io")
MESSAGE = "Health check failed:\n  * Condition Ready on Node is reporting status Unknown"


def test_mark_is_told_with_its_reason_and_its_message_on_one_line() -> None:
    told = cluster_api_narration.machine_is_marked(MACHINE.name).after(MarkSeen("UnhealthyNode", MESSAGE))
    assert told == (
        "It is: Machine demo-x7k2p is marked for its owner, "
        "HealthCheckSucceeded=False and OwnerRemediated=False, "
        "UnhealthyNode: Health check failed: * Condition Ready on Node is reporting status Unknown"
    )


def test_fleet_is_told_with_the_nodes_that_its_machines_became() -> None:
    told = cluster_api_narration.fleet_is_healthy().after([MACHINE, MACHINE])
    assert told.startswith("demo-x7k2p (node-3), demo-x7k2p (node-3) run")


def test_owner_and_not_paramedic_takes_the_machine_away() -> None:
    line = cluster_api_narration.machine_is_gone(MACHINE)
    assert line.before == "Its owner, MachineSet 'demo', finds the mark and deletes it. Paramedic does not."
    assert line.after(None) == "Machine demo-x7k2p is gone, and its Node node-3 of 'workload' with it."
