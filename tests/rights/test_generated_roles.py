"""The generated roles and pages equal the table of rights, and the table grants only what it names."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from rights.generator import ROOT, everything, of_installations, of_others, written
from runtime.process_names import SERVICE_ACCOUNTS
from runtime.rights import (
    needs,
    needs_for_evidence_in_workload_clusters,
    needs_for_upgrade_pause,
    needs_in_workload_clusters,
    signals_upgrades_here,
)
from runtime.settings import Settings

DEPLOY = ROOT / "deploy"
MADE = written()
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


@pytest.mark.parametrize("path", MADE)
def test_files_are_as_the_table_says(path: str) -> None:
    assert (ROOT / path).read_text() == MADE[path], "run `make rights`"


def test_only_files_that_are_made_and_those_that_a_person_edits_grant_anything() -> None:
    by_hand = {
        Path("deploy/examples/kubeconfig-secrets.yaml"),
        Path("deploy/workload-cluster/evidence.yaml"),
        Path("deploy/workload-cluster/nodes.yaml"),
    }
    assert {file for file, found in ALL.items() if found} - by_hand == {Path(path) for path in MADE} - {
        Path("docs/rights.md")
    }


def test_manifest_grants_exactly_its_rows() -> None:
    for path in MADE.keys() - {"docs/rights.md"}:
        rows = [right for right in of_installations() if right.granted_by == path]
        assert set(granted(ROOT / path)) == {one for row in rows for one in _of(row)}


def test_in_workload_clusters_is_read_what_the_table_says() -> None:
    for right in (*needs_in_workload_clusters(), *needs_for_evidence_in_workload_clusters()):
        assert set(_of(right)) <= set(granted(ROOT / right.granted_by))
    for path in {right.granted_by for right in of_others() if "workload-cluster/" in right.granted_by}:
        rows = [right for right in of_others() if right.granted_by == path]
        assert set(granted(ROOT / path)) == {one for row in rows for one in _of(row)}


def _of(right: Right) -> Iterator[Granted]:
    for verb in right.verbs:
        yield right.group, right.resource, verb, right.namespace, right.name


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


def test_each_row_says_why() -> None:
    assert [right for right in (*of_installations(), *of_others()) if not right.why] == []


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
