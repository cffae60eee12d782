"""An installation for nodes only has no right over Machines except to read them."""

from pathlib import Path

import pytest
import yaml

from devcluster.manifests import ROOT

MACHINES = "machine.openshift.io"


def verbs(file: Path, role: str, resource: str) -> set[str]:
    """The verbs of a role in that file for a kind of the machine API."""
    return {
        verb
        for body in yaml.safe_load_all(file.read_text())
        if body["kind"] == "ClusterRole" and body["metadata"]["name"] == role
        for rule in body["rules"]
        if MACHINES in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(
    ("name", "expected"), [("worker", {"get"}), ("detector", set())], ids=["worker", "detector"]
)
def test_machines_are_read_at_most_without_the_roles_of_openshift(name: str, expected: set[str]) -> None:
    file = ROOT / "deploy" / "base" / "rbac" / f"{name}.yaml"
    assert verbs(file, f"paramedic-{name}", "machines") == expected


def test_only_the_worker_touches_machines() -> None:
    roles = ROOT / "deploy" / "components" / "openshift-machines" / "machine-health-checks.yaml"
    assert verbs(roles, "paramedic-worker-machines", "machines") == {"get", "delete", "patch"}
    assert verbs(roles, "paramedic-detector-machines", "machines") == {"list", "watch"}
