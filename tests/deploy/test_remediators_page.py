"""docs/remediators.md: its commands select the labelled node alone, and undo that."""

from pathlib import Path

import pytest
import yaml

from devcluster import programs
from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.node import Node
from kube.client import Client
from kube.errors import NotFound
from kube.resource import NODES
from kube.transport import Transport
from tests.deploy.page_commands import blocks_of, reasons, run, tried

PAGE = (ROOT / "docs" / "remediators.md").read_text()
EXAMPLE = ROOT / "deploy" / "examples" / "test-one-node.yaml"
LABELLED, OTHER = "worker-1", "worker-2"


def test_only_commands_that_cannot_be_tried_are_not_tried() -> None:
    assert all(reason.startswith("needs ") for reason in reasons(PAGE)), reasons(PAGE)


@pytest.mark.cluster
async def test_commands_of_the_page_select_one_labelled_node_and_undo_that(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "kubectl").symlink_to(programs.kubectl())
    select, _, undo = (f"set -eu\n{tried(block)}" for block in blocks_of(PAGE))
    naming = select.splitlines()[1]
    assert naming == f"NODE={LABELLED}"
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport)
        for name in (LABELLED, OTHER):
            await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        try:
            status, said = await run(select, tmp_path, commands, control_plane.kubeconfig)
            assert status == 0, said
            check = NodeHealthCheck.parse(await client.get(NODE_HEALTH_CHECKS, "test-remediator"))
            nodes = [Node.model_validate(await client.get(NODES, name)) for name in (LABELLED, OTHER)]
            assert [check.selects(node) for node in nodes] == [True, False]
            assert check.allowance(total=1, healthy=0).allowed

            status, said = await run(f"{naming}\n{undo}", tmp_path, commands, control_plane.kubeconfig)
            assert status == 0, said
            assert not (await client.get(NODES, LABELLED))["metadata"].get("labels")
            with pytest.raises(NotFound):
                await client.get(NODE_HEALTH_CHECKS, "test-remediator")
        finally:
            for name in (LABELLED, OTHER):
                await client.delete(NODES, name)


def test_example_names_a_template_of_the_page() -> None:
    assert yaml.safe_load(EXAMPLE.read_text())["spec"]["remediationTemplate"]["kind"] in PAGE
