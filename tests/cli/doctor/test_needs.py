"""The table of rights and the roles in deploy/ say the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from cli.doctor.rights import needs, service_account
from health.kinds.check_kind import Process, Right
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from runtime.settings import Settings

DEPLOY = Path(__file__).parents[3] / "deploy"
FILES = (
    "base/rbac/detector.yaml",
    "base/rbac/worker.yaml",
    "components/openshift/machine-health-checks.yaml",
    "components/cluster-api/machine-health-checks.yaml",
)
Granted = tuple[str, str, str, str, str, str]
"""Process, group, resource, verb, namespace, name."""

EVERYTHING = Settings(cluster="c", check_kinds=tuple(CHECK_KINDS.values()))


def granted(file: str) -> Iterator[Granted]:
    for document in yaml.safe_load_all((DEPLOY / file).read_text()):
        if document["kind"] not in ("ClusterRole", "Role"):
            continue
        name, namespace = document["metadata"]["name"], document["metadata"].get("namespace", "")
        process = "detector" if name.startswith("paramedic-detector") else "worker"
        for rule in document["rules"]:
            yield from granted_by(rule, process, namespace)


def granted_by(rule: dict[str, Any], process: str, namespace: str) -> Iterator[Granted]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield (process, group, resource, verb, namespace, name)


def needed(settings: Settings) -> set[Granted]:
    return {right for need in needs(settings) for right in rights_of(need)}


def rights_of(need: Right) -> Iterator[Granted]:
    for verb in need.verbs:
        yield (need.process, need.group, need.resource, verb, need.namespace, need.name)


def test_what_is_needed_is_granted_and_nothing_more() -> None:
    assert needed(EVERYTHING) == {right for file in FILES for right in granted(file)}


def test_without_machine_health_checks_their_roles_are_not_needed() -> None:
    only_nodes = Settings(cluster="c", check_kinds=(NODE_HEALTH_CHECK,))
    assert needed(only_nodes) == {right for file in FILES[:2] for right in granted(file)}


def test_each_need_says_which_file_grants_it() -> None:
    for need in needs(EVERYTHING):
        files = [file for file in FILES if f"deploy/{file}".startswith(need.granted_by)]
        assert set(rights_of(need)) <= {right for file in files for right in granted(file)}


def test_account_of_a_process_is_the_one_that_deploy_makes() -> None:
    text = "".join((DEPLOY / file).read_text() for file in FILES)
    for process in Process:
        assert f"name: {service_account(process)}\n" in text
