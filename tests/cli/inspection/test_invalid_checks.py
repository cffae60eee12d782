"""The checks that `paramedic explain` names because it cannot read them."""

from cli.inspection.targets import invalid_checks_for
from detector.state.cluster_state import ClusterState
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_machines import SmallMachines

NODE, MACHINE = "node-1", "machine-1"


def named(state: ClusterState, name: str) -> list[str]:
    return [str(check) for check, _ in invalid_checks_for(state, name)]


def test_check_that_cannot_be_read_is_named_for_targets_of_its_kind_and_namespace() -> None:
    nodes, machines = SmallCluster(), SmallMachines()
    nodes.cluster_state = machines.cluster_state
    nodes.check(duration="soon")
    machines.check(maxUnhealthy="many")
    nodes.node(NODE)
    machines.machine(MACHINE)
    machines.machine("of-another-namespace", namespace="elsewhere")
    state = nodes.cluster_state
    assert named(state, NODE) == named(state, f"Node/{NODE}") == [str(SmallCluster.named())]
    assert named(state, MACHINE) == [str(SmallMachines.named())]
    assert named(state, "of-another-namespace") == named(state, f"Machine/{NODE}") == []


def test_name_of_a_node_is_that_of_its_machine_too_and_a_valid_check_is_not_named() -> None:
    machines = SmallMachines()
    machines.node(NODE)
    machines.machine(MACHINE, node=NODE)
    machines.check()
    assert named(machines.cluster_state, NODE) == []
    machines.check(maxUnhealthy="many")
    assert named(machines.cluster_state, NODE) == [str(SmallMachines.named())]
