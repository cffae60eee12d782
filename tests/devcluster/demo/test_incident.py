from pathlib import Path

from devcluster.demo import incident
from devcluster.demo.dev_description import DevDescription
from devcluster.demo.facts import MachineSeen, NodeSeen, Run

DEV = DevDescription(
    kubeconfig=Path("kubeconfig"),
    temporal_address="127.0.0.1:7233",
    temporal_namespace="paramedic",
    temporal_ui="http://127.0.0.1:8233",
    cluster="dev-1a2b3c4d",
    pids={"worker": 7},
)


def test_workflow_is_found_under_the_check_the_node_and_the_beginning_of_its_uid() -> None:
    node = NodeSeen("node-3", "0123456789abcdef", "boot")
    id_ = incident.workflow_id("dev-1a2b3c4d", node)
    assert id_ == "remediation/dev-1a2b3c4d/NodeHealthCheck/demo/node-3/01234567"


def test_workflow_of_a_machine_is_found_under_its_own_uid_and_the_namespace_of_its_check() -> None:
    machine = MachineSeen("demo-x7k2p", "fedcba9876543210", NodeSeen("node-3", "0123456789abcdef", "boot"))
    id_ = incident.workflow_id("dev-1a2b3c4d", machine)
    assert id_ == "remediation/dev-1a2b3c4d/MachineHealthCheck/default/demo/demo-x7k2p/fedcba98"


def test_workflow_of_a_machine_of_cluster_api_names_the_group_of_its_kind() -> None:
    node = NodeSeen("node-3", "0123456789abcdef", "boot")
    machine = MachineSeen("demo-x7k2p", "fedcba9876543210", node, "cluster.x-k8s.io")
    id_ = incident.workflow_id("dev-1a2b3c4d", machine)
    kind = "MachineHealthCheck.cluster.x-k8s.io"
    assert id_ == f"remediation/dev-1a2b3c4d/{kind}/default/demo/demo-x7k2p/fedcba98"


def test_page_of_a_workflow_has_the_slashes_of_its_id_escaped() -> None:
    page = incident.page(DEV, Run("remediation/dev/node-3", "run-1"))
    assert page == (
        "http://127.0.0.1:8233/namespaces/paramedic/workflows/remediation%2Fdev%2Fnode-3/run-1/history"
    )
