"""The demo reads the description of the servers, and names incidents and their pages."""

import os
from pathlib import Path

import pytest

from devcluster.demo.cluster_view import MachineSeen, NodeSeen
from devcluster.demo.process import DevDescription, read_description
from devcluster.demo.stage import page, workflow_id

DEV = DevDescription(
    kubeconfig=Path("kubeconfig"),
    temporal_address="127.0.0.1:7233",
    temporal_namespace="paramedic",
    temporal_ui="http://127.0.0.1:8233",
    cluster="dev-1a2b3c4d",
    pids={"worker": 7},
)
NODE = NodeSeen("node-3", "0123456789abcdef", "boot")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "dev.json"
    file.write_text(DEV.model_dump_json().replace('"cluster"', '"audit_log": "a", "cluster"'))
    os.utime(file, (1000, 1000))
    return file


def test_description_is_read_with_more_in_it_than_the_demo_needs(file: Path) -> None:
    assert read_description(file) == DEV


def test_description_that_is_not_there_yet_is_none(tmp_path: Path) -> None:
    assert read_description(tmp_path / "dev.json") is None


def test_description_that_an_earlier_process_left_is_none(file: Path) -> None:
    assert read_description(file, since=999) == DEV
    assert read_description(file, since=1001) is None


@pytest.mark.parametrize(
    ("target", "id_"),
    [
        (NODE, "NodeHealthCheck/demo/node-3/01234567"),
        (
            MachineSeen("demo-x7k2p", "fedcba9876543210", NODE, "machine.openshift.io"),
            "MachineHealthCheck/default/demo/demo-x7k2p/fedcba98",
        ),
        (
            MachineSeen("demo-x7k2p", "fedcba9876543210", NODE, "cluster.x-k8s.io"),
            "MachineHealthCheck.cluster.x-k8s.io/default/demo/demo-x7k2p/fedcba98",
        ),
    ],
    ids=["a node", "a Machine in the namespace of its check", "a Machine of Cluster API by its group"],
)
def test_workflow_is_found_under_the_check_the_target_and_the_beginning_of_its_uid(
    target: NodeSeen | MachineSeen, id_: str
) -> None:
    assert workflow_id("dev-1a2b3c4d", target) == f"remediation/dev-1a2b3c4d/{id_}"


def test_page_of_a_workflow_has_the_slashes_of_its_id_escaped() -> None:
    assert page(DEV, "remediation/dev/node-3", "run-1") == (
        "http://127.0.0.1:8233/namespaces/paramedic/workflows/remediation%2Fdev%2Fnode-3/run-1/history"
    )
