"""Each `kubectl` command of the pages runs against a real API server; those that write are dry runs there.

The pages about installation, switching and remediators have tests of their own, which run their blocks in
order.
"""

import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from devcluster import programs
from devcluster.control_plane import ControlPlane
from tests.deploy.page_commands import run
from tests.support.page_commands import PageCommand, page_commands

pytestmark = pytest.mark.cluster

OTHERS = ("install.md", "remediators.md", "switching.md", "cluster-api-switch.md", "openshift.md")
VALUES = {"NAME": "node-4", "NODE": "node-4", "node-1": "node-4", "CHECK": "workers", "NAMESPACE": "fleet"}
WRITES = {"annotate", "create", "label", "patch", "scale", "uncordon"}
ELSEWHERE = ("kubectl paramedic", "kubectl krew", "kubectl auth can-i", "kubectl describe clusterversion")
"""Plugins, the name of a command, and a kind of OpenShift."""
EXAMPLE = "reboottemplate"
"""A kind of template that the user brings."""
OURS, ABSENT = "paramedic-system", "ot found"
"""The tests apply what an installation has in this namespace as a dry run only."""
COMMANDS = [
    command
    for command in page_commands("kubectl")
    if len(command.words) > 2
    and not command.page.endswith(OTHERS)
    and not command.text.startswith(ELSEWHERE)
    and EXAMPLE not in command.words
]
NAMED = """
apiVersion: v1
kind: Namespace
metadata: {name: fleet}
---
apiVersion: v1
kind: Node
metadata: {name: node-4}
---
apiVersion: remediation.medik8s.io/v1alpha1
kind: NodeHealthCheck
metadata: {name: workers}
spec:
  selector: {matchLabels: {page: commands}}
  minHealthy: 51%
  remediationTemplate: {apiVersion: example.com/v1, kind: RebootTemplate, name: reboot, namespace: default}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: node-4, namespace: fleet}
spec:
  clusterName: edge
  bootstrap: {dataSecretName: none}
  infrastructureRef: {apiGroup: example.com, kind: Server, name: node-4}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: workers, namespace: fleet}
spec: {clusterName: edge, selector: {matchLabels: {page: commands}}}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: fleet}
spec:
  selector: {matchLabels: {page: commands}}
  unhealthyConditions: [{type: Ready, status: "False", timeout: 300s}]
"""
"""The objects that the pages name."""


class Shell:
    """Runs commands in a folder with `kubectl`, against the control plane."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self.folder = folder
        self._kubeconfig = kubeconfig
        self._commands = folder / "bin"
        self._commands.mkdir()
        (self._commands / "kubectl").symlink_to(programs.kubectl())
        (folder / "KUBECONFIG").symlink_to(kubeconfig)  # as the demo page names its file

    async def run(self, script: str) -> tuple[int, str]:
        return await run(script, self.folder, self._commands, self._kubeconfig)


@pytest.fixture
async def shell(full_control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Shell]:
    """A shell in a cluster with the objects that the pages name."""
    made = Shell(tmp_path, full_control_plane.kubeconfig)
    (tmp_path / "named.yaml").write_text(NAMED)
    (tmp_path / "keys.yaml").write_text("keys")
    status, said = await made.run("kubectl apply -f named.yaml")
    assert status == 0, said
    yield made
    kept = [item for item in yaml.safe_load_all(NAMED) if item["kind"] != "Namespace"]
    (tmp_path / "named.yaml").write_text(yaml.safe_dump_all(kept))
    status, said = await made.run("kubectl delete -f named.yaml")
    assert status == 0, said


async def test_commands_of_the_pages_are_accepted(shell: Shell) -> None:
    failed = []
    for command in COMMANDS:
        status, said = await shell.run(_script(command))
        if status != 0 and not (OURS in command.words and ABSENT in said):
            failed.append(f"{command}: {said}")
    assert COMMANDS
    assert failed == []


def _script(command: PageCommand) -> str:
    words = [VALUES.get(word, word) for word in command.words]
    if not WRITES.isdisjoint(words):
        words.append("--dry-run=server")
    return shlex.join(words)
