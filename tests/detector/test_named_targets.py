"""The targets that a name given to `paramedic explain` means, and the checks that select them or may."""

import pytest

from detector.inspection.named_targets import NamedTargets, UnknownNameError
from detector.state.cluster_state import ClusterState
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_machines import SmallMachines


@pytest.fixture
def state() -> ClusterState:
    nodes, machines = SmallCluster(), SmallMachines()
    nodes.cluster_state = machines.cluster_state
    nodes.check()
    nodes.check("others")
    machines.check()
    nodes.node("node-1")
    nodes.node("of-no-check", labels={})
    machines.machine("machine-1", node="node-1")
    return nodes.cluster_state


BY_NODE_CHECK = ["NodeHealthCheck/workers of node-1"]
BY_OTHERS = ["NodeHealthCheck/others of node-1"]
BY_MACHINE_CHECK = [f"{SmallMachines.named()} of machine-1"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("node-1", BY_MACHINE_CHECK + BY_OTHERS + BY_NODE_CHECK),
        ("Node/node-1", BY_MACHINE_CHECK + BY_OTHERS + BY_NODE_CHECK),
        ("others/node-1", BY_OTHERS),
        ("NodeHealthCheck/workers/node-1", BY_NODE_CHECK),
        (f"{SmallMachines.namespace}/machine-1", BY_MACHINE_CHECK),
        (f"{SmallMachines.namespace}/workers/machine-1", BY_MACHINE_CHECK),
        (f"{SmallMachines.named()}/node-1", BY_MACHINE_CHECK),
        ("of-no-check", []),
        ("Node/of-no-check", []),
    ],
)
def test_name_means_a_target_and_the_check_before_it_limits_the_answer(
    state: ClusterState, name: str, found: list[str]
) -> None:
    assert (
        sorted(
            f"{check.reference} of {target.metadata.name}"
            for check, target in NamedTargets(state, name).selected()
        )
        == found
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("node-9", "no Node or Machine is called 'node-9'"),
        ("workerss/node-1", "'node-1' exists, and the checks are "),
        ("ns/node-1", "'node-1' exists, and the checks are "),
        ("others/of-no-check", "NodeHealthCheck/others does not select 'of-no-check', or cannot be read"),
    ],
)
def test_part_before_the_name_that_nothing_has_is_an_unknown_name(
    state: ClusterState, name: str, why: str
) -> None:
    with pytest.raises(UnknownNameError, match=f"no Node or Machine is called '{name}'") as refused:
        NamedTargets(state, name).selected()
    assert why in str(refused.value)


NODE, MACHINE = "node-1", "machine-1"


def invalid(state: ClusterState, name: str) -> list[str]:
    return [str(check) for check, _ in NamedTargets(state, name).invalid()]


def test_check_that_cannot_be_read_is_named_for_targets_of_its_kind_and_namespace() -> None:
    nodes, machines = SmallCluster(), SmallMachines()
    nodes.cluster_state = machines.cluster_state
    nodes.check(duration="soon")
    machines.check(maxUnhealthy="many")
    nodes.node(NODE)
    machines.machine(MACHINE)
    machines.machine("of-another-namespace", namespace="elsewhere")
    state = nodes.cluster_state
    assert invalid(state, NODE) == invalid(state, f"Node/{NODE}") == [str(SmallCluster.named())]
    assert invalid(state, MACHINE) == [str(SmallMachines.named())]
    assert invalid(state, "of-another-namespace") == invalid(state, f"Machine/{NODE}") == []


def test_name_of_a_node_is_that_of_its_machine_too_and_a_valid_check_is_not_named() -> None:
    machines = SmallMachines()
    machines.node(NODE)
    machines.machine(MACHINE, node=NODE)
    machines.check()
    assert invalid(machines.cluster_state, NODE) == []
    machines.check(maxUnhealthy="many")
    assert invalid(machines.cluster_state, NODE) == [str(SmallMachines.named())]
