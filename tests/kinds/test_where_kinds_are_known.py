"""A kind of check is named in its folders and in the registries; who imports what, import-linter holds."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from activities.registry import KIND_ACTIVITIES
from detector.registry import WATCHED_KINDS
from health.kinds.registry import CHECK_KINDS

ROOT = Path(__file__).parents[2]
ROOMS = ("activities", "detector", "health", "kube", "runtime", "worker", "workflows")
KINDS = {"nodehealthcheck", "openshift"}
REGISTRIES = {
    "activities/registry.py",
    "detector/registry.py",
    "health/kinds/registry.py",
    "health/model/kind_names.py",
}
NAMES = re.compile(r"nodehealthcheck|machinehealthcheck|openshift")
OF_THE_PLATFORM = {
    ("activities/etcd.py", "config.openshift.io/v1"),
    ("activities/etcd.py", "_OPENSHIFT"),
    ("activities/etcd.py", "_is_openshift"),
    ("health/gate/etcd_disruption.py", "openshift-etcd"),
    ("health/gate/upgrade.py", "config.openshift.io"),
    ("health/gate/upgrade.py", "config.openshift.io/v1"),
    ("health/model/node.py", "machine.openshift.io/machine"),
    ("health/model/node.py", "machineconfiguration.openshift.io/currentConfig"),
    ("health/model/node.py", "machineconfiguration.openshift.io/desiredConfig"),
    ("health/model/remediation_request.py", "nodehealthcheck.medik8s.io/old-remediation-cr-flag"),
}
"""What OpenShift, and the API of remediators, have for every kind of check: namespaces, annotations."""


def files() -> Iterator[str]:
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            path = file.relative_to(ROOT)
            if str(path) not in REGISTRIES and not KINDS & set(path.parts):
                yield str(path)


def words(file: str) -> Iterator[str]:
    """Identifiers and strings, but no docstrings."""
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


def test_registries_know_the_same_kinds() -> None:
    assert CHECK_KINDS.keys() == KIND_ACTIVITIES.keys() == WATCHED_KINDS.keys()


def test_each_kind_has_its_folder_in_each_room() -> None:
    for room in ("activities", "detector", "health/kinds"):
        assert {folder.name for folder in (ROOT / room).iterdir() if folder.name in KINDS} == KINDS
