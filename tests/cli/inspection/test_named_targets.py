"""The targets that a name given to `paramedic explain` means, with the checks that select them."""

import pytest
import typer

from cli.inspection.commands import explained_name
from cli.inspection.targets import selected
from cli.shared.errors import NotFoundError
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
        sorted(f"{check.reference} of {target.metadata.name}" for check, target in selected(state, name))
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
    with pytest.raises(NotFoundError, match=f"no Node or Machine is called '{name}'") as refused:
        selected(state, name)
    assert why in str(refused.value)


def test_node_with_a_namespace_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="Nodes have no namespace, give Node/node-1"):
        explained_name("Node/ns/node-1")
