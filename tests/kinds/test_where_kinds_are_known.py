"""A kind of check is named in its folders and in the registries; who imports what, import-linter holds.

The simulation and the bench are about kinds: the demo applies checks and templates, the simulation is the
machine API of OpenShift, the bench fails Nodes and Machines. There files name them. So does the table of
remediators, whose rows say which machine API each remediator needs.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from activities.registry import KIND_ACTIVITIES
from detector.registry import WATCHED_KINDS
from health.kinds.registry import CHECK_KINDS

ROOT = Path(__file__).parents[2]
ROOMS = (
    "activities",
    "tools/bench",
    "cli",
    "detector",
    "tools/devcluster",
    "health",
    "kube",
    "objects",
    "runtime",
    "worker",
    "workflows",
)
KINDS = {"clusterapi", "nodehealthcheck", "openshift"}
REGISTRIES = {
    "activities/registry.py",
    "detector/registry.py",
    "health/kinds/registry.py",
    "health/model/references.py",
}
ABOUT_KINDS = {
    "tools/bench",
    "cli/dev.py",
    "tools/devcluster",
}
"""Files, and folders with all that is in them."""
NAMES = re.compile(r"nodehealthcheck|machinehealthcheck|openshift|clusterapi|cluster\.x-k8s")
OF_THE_PLATFORM = {
    ("activities/etcd.py", "config.openshift.io/v1"),
    ("activities/etcd.py", "_OPENSHIFT"),
    ("health/gate/etcd_disruption.py", "openshift-etcd"),
    ("health/check/annotated_hold.py", "cluster.x-k8s.io/paused"),
    ("health/cluster/upgrade.py", "config.openshift.io"),
    ("health/cluster/upgrade.py", "config.openshift.io/v1"),
    ("health/model/node.py", "machine.openshift.io/machine"),
    ("health/model/node.py", "machineconfiguration.openshift.io/currentConfig"),
    ("health/model/node.py", "machineconfiguration.openshift.io/currentImage"),
    ("health/model/node.py", "machineconfiguration.openshift.io/desiredConfig"),
    ("health/model/node.py", "machineconfiguration.openshift.io/desiredImage"),
    ("health/model/node.py", "machineconfiguration.openshift.io/state"),
    ("health/policy/quorum.py", "cluster.x-k8s.io/control-plane"),
    ("health/policy/quorum.py", "cluster.x-k8s.io/etcd-cluster"),
    ("health/policy/quorum.py", "machine.openshift.io/cluster-api-machine-role=arbiter"),
    ("health/policy/quorum.py", "machine.openshift.io/cluster-api-machine-role=master"),
    ("runtime/rights.py", "deploy/components/openshift/worker-etcd.yaml"),
    ("health/model/remediation_request.py", "nodehealthcheck.medik8s.io/old-remediation-cr-flag"),
}
"""Namespaces, annotations and labels of platforms and of remediators, which matter to every kind of check."""

# The operator before us, and its annotations, have the name of a kind.
KIND_IN_PROSE = re.compile(
    r"(?:node|machine)healthcheck(?!s?[\s#]+operator|\.medik8s\.io)|(?-i:Cluster[\s#]+API\b)", re.IGNORECASE
)
EXAMPLES = {
    "cli/doctor/cluster.py",
    "objects/durations.py",
    "objects/group_kind.py",
}
"""Docstrings that explain what holds for every kind by one of them."""
PLATFORM_IN_PROSE = {
    "activities/etcd.py",
    "health/gate/etcd_disruption.py",
    "health/cluster/upgrade.py",
    "runtime/rights.py",
}
"""Where OpenShift is no kind, but the cluster that checks of all kinds may be in."""


def files() -> Iterator[str]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            path = file.relative_to(ROOT)
            places = {str(path), *map(str, path.parents)}
            if not places & (REGISTRIES | ABOUT_KINDS) and not KINDS & set(path.parts):
                yield str(path)


def words(file: str) -> Iterator[str]:
    tree = ast.parse((ROOT / file).read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
        for field in ("id", "attr", "name", "arg", "module", "asname"):
            word = getattr(node, field, None)
            if isinstance(word, str):
                yield word


def test_no_other_file_names_a_kind() -> None:
    named = {
        (file, word)
        for file in files()
        for word in words(file)
        if NAMES.search(word.lower().replace("_", ""))
    }
    assert named == OF_THE_PLATFORM


def test_no_other_docstring_or_comment_is_about_a_kind() -> None:
    assert {file for file in files() if KIND_IN_PROSE.search((ROOT / file).read_text())} == EXAMPLES
    assert {file for file in files() if "OpenShift" in (ROOT / file).read_text()} == PLATFORM_IN_PROSE


def test_registries_know_the_same_kinds() -> None:
    assert CHECK_KINDS.keys() == KIND_ACTIVITIES.keys() == WATCHED_KINDS.keys()


def test_each_kind_has_its_folder_in_each_room() -> None:
    for room in ("activities", "detector", "health/kinds"):
        assert {folder.name for folder in (ROOT / room).iterdir() if folder.name in KINDS} == KINDS
