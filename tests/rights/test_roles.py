"""The roles in `deploy/` grant only what is named, each rule with its reason, and are read as they are."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from runtime.process_names import SERVICE_ACCOUNTS
from runtime.rights import ROOT, granted_by, needs, needs_for_upgrade_pause, signals_upgrades_here
from runtime.settings import Settings
from tests.support.values.rights import everything, of_installations

DEPLOY = ROOT / "deploy"
ROLES = {"ClusterRole", "Role"}
Granted = tuple[str, str, str, str, str]
"""Group, resource, verb, namespace, name."""


def rules(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Each rule of a file, with the namespace that it is for."""
    for document in yaml.load_all(file.read_text(), yaml.CSafeLoader):
        if document["kind"] in ROLES:
            for rule in document.get("rules", ()):
                yield rule, document["metadata"].get("namespace", "")


def granted(file: Path) -> Iterator[Granted]:
    for rule, namespace in rules(file):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield group, resource, verb, namespace, name


# Not the chart: its roles are these files.
FILES = sorted(set(DEPLOY.rglob("*.yaml")) - set((DEPLOY / "chart").rglob("*.yaml")))
ALL = {file.relative_to(ROOT): list(rules(file)) for file in FILES}
EACH_RULE = [(file, rule) for file, found in ALL.items() for rule, _ in found]


GRANTED = {right.granted_by for right in of_installations() if right.granted_by is not None}
BY_HAND = {
    "deploy/examples/kubeconfig-secrets.yaml",
    "deploy/workload-cluster/evidence.yaml",
    "deploy/workload-cluster/nodes.yaml",
}
"""Files that a person edits, or applies in another cluster."""


def test_doctor_and_the_comparison_read_each_file_that_grants_anything() -> None:
    assert {str(file) for file, found in ALL.items() if found} == GRANTED | BY_HAND


@pytest.mark.parametrize("file", sorted(GRANTED))
def test_rights_that_are_read_are_those_that_the_api_server_grants(file: str) -> None:
    assert {one for right in granted_by(file) for one in _of(right)} == set(granted(ROOT / file))


def test_identity_in_a_kubeconfig_has_the_rights_of_both_processes() -> None:
    of_nodes = granted_by("deploy/workload-cluster/nodes.yaml")
    assert {right.process for right in of_nodes} == set(Process)
    assert {one for right in of_nodes for one in _of(right)} == set(
        granted(ROOT / "deploy/workload-cluster/nodes.yaml")
    )


def _of(right: Right) -> Iterator[Granted]:
    for verb in right.verbs:
        yield right.group, right.resource, verb, right.namespace or "", right.name or ""


@pytest.mark.parametrize("file", sorted(GRANTED | BY_HAND - {"deploy/examples/kubeconfig-secrets.yaml"}))
def test_each_rule_has_its_reason_above_it(file: str) -> None:
    lines = (ROOT / file).read_text().splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("  - apiGroups:")]
    assert rules
    assert [lines[number] for number in rules if not lines[number - 1].startswith("  # ")] == []


@pytest.mark.parametrize(("file", "rule"), EACH_RULE, ids=str)
def test_no_rule_has_a_wildcard(file: Path, rule: Mapping[str, list[str]]) -> None:
    words = {word for key in ("apiGroups", "resources", "verbs") for word in rule[key]}
    assert not [word for word in words if "*" in word], file


def test_secrets_are_granted_by_name_and_to_be_read_alone() -> None:
    on_secrets = [rule for _, rule in EACH_RULE if "secrets" in rule["resources"]]
    assert [(bool(rule["resourceNames"]), rule["verbs"]) for rule in on_secrets] == [(True, ["get"])]


def test_namespaces_are_granted_by_name_and_never_made() -> None:
    on_namespaces = [rule for _, rule in EACH_RULE if "namespaces" in rule["resources"]]
    assert len(on_namespaces) == 5
    for rule in on_namespaces:
        assert rule["resourceNames"]
        assert set(rule["verbs"]) <= {"get", "list", "watch"}


def test_to_patch_nodes_is_granted_by_a_role_of_its_own() -> None:
    (file,) = {
        str(file) for file, rule in EACH_RULE if "nodes" in rule["resources"] and "patch" in rule["verbs"]
    }
    assert file == "deploy/base/rbac/confirmations.yaml"


def test_accounts_are_those_that_deploy_makes() -> None:
    documents = yaml.safe_load_all((DEPLOY / "base" / "rbac" / "service-accounts.yaml").read_text())
    assert {document["metadata"]["name"] for document in documents} == set(SERVICE_ACCOUNTS.values())
    assert SERVICE_ACCOUNTS.keys() == set(Process)


def test_right_of_a_disabled_setting_is_not_needed() -> None:
    only_nodes = Settings(cluster="c", check_kinds=(NODE_HEALTH_CHECK,))
    kept = only_nodes.model_copy(update={"confirmations": "keep"})
    base = "deploy/base/rbac/"

    assert {right.granted_by for right in needs(only_nodes)} == {
        f"{base}{name}.yaml" for name in ("detector", "worker", "confirmations")
    }
    assert {right.granted_by for right in needs(kept)} == {f"{base}{name}.yaml" for name in Process}
    assert set(needs(kept)) < set(needs(only_nodes)) < set(needs(everything()))


def test_pause_for_upgrades_needs_no_right_over_a_machine() -> None:
    wanted = list(needs_for_upgrade_pause())
    assert {right.granted_by for right in wanted} == {"deploy/components/openshift/upgrade-pause.yaml"}
    assert {right.resource for right in wanted} == {"machinehealthchecks", "events"}


def test_signal_of_other_clusters_upgrades_needs_no_pause_here() -> None:
    assert {signal.kind for signal in everything().upgrade_signals} > {"ClusterVersion"}
    assert [signal.kind for signal in signals_upgrades_here(everything())] == ["ClusterVersion"]


def test_namespaces_of_settings_are_those_of_the_rights() -> None:
    elsewhere = Settings(
        cluster="c", check_kinds=tuple(CHECK_KINDS.values()), namespace="ours", lease_namespace="leases"
    )
    found = {word for right in needs(elsewhere) for word in (right.namespace, right.name)}
    assert {"ours", "leases"} <= found
    assert not {"paramedic-system", "medik8s-leases"} & found
