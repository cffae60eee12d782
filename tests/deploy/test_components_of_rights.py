"""Components that take rights away, as kustomize builds them on top of the base."""

from pathlib import Path

from kube.resource import Object
from tests.deploy.overlays import combined, named, of_kind

BINDINGS = ("ClusterRoleBinding", "RoleBinding")


def bound(objects: tuple[Object, ...], account: str) -> set[str]:
    return {
        binding["roleRef"]["name"]
        for binding in of_kind(objects, *BINDINGS)
        if account in {subject["name"] for subject in binding["subjects"]}
    }


def test_every_role_that_is_bound_is_there_or_none_of_ours(tmp_path: Path) -> None:
    base = combined(tmp_path)
    roles = {role["metadata"]["name"] for role in of_kind(base, "ClusterRole", "Role")}
    assert bound(base, "paramedic-detector") | bound(base, "paramedic-worker") == roles
    assert {account["metadata"]["name"] for account in of_kind(base, "ServiceAccount")} >= {
        "paramedic-detector",
        "paramedic-worker",
    }


def test_detector_that_only_reads_requests_has_a_role_of_another_label(tmp_path: Path) -> None:
    strict = combined(tmp_path, "read-only-detector")

    assert bound(strict, "paramedic-detector") == {"paramedic-detector", "paramedic-detector-remediation"}
    assert "paramedic-ext-remediation" in bound(strict, "paramedic-worker")
    role = named(strict, "ClusterRole", "paramedic-detector-remediation")
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"] == {"paramedic.dev/aggregate-to-detector": "true"}


def test_worker_without_the_right_to_patch_nodes_has_the_setting_for_it(tmp_path: Path) -> None:
    kept = combined(tmp_path, "read-only-nodes")

    assert bound(kept, "paramedic-worker") == {"paramedic-worker", "paramedic-ext-remediation"}
    assert "paramedic-worker-confirmations" not in {document["metadata"]["name"] for document in kept}
    (settings,) = (
        config_map["data"]
        for config_map in of_kind(kept, "ConfigMap")
        if config_map["metadata"]["name"].startswith("paramedic-settings")
    )
    assert settings["PARAMEDIC_CONFIRMATIONS"] == "keep"


def test_evidence_takes_rights_of_its_own(tmp_path: Path) -> None:
    granted = combined(tmp_path, "evidence")

    assert "paramedic-worker-evidence" in bound(granted, "paramedic-worker")
    assert named(granted, "ValidatingAdmissionPolicy", "paramedic-worker-evidence")
    (rule,) = named(granted, "Role", "paramedic-worker-evidence")["rules"]
    assert (rule["resources"], rule["verbs"]) == (["configmaps"], ["create", "list", "delete"])
