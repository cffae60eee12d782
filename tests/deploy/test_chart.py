"""The chart installs the same objects as the overlays, plus those that its values ask for."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from health.model.owner_signs import OwnerSign
from health.policy.held_nodes import HeldNodes
from health.policy.limits import Limits
from health.policy.maintenance_windows import MaintenanceWindow
from health.policy.outage_guard import OutageGuard
from health.policy.policy import POLICY, InvalidPolicyError, Policy, policy_of
from kube.resource import Object
from runtime.settings import Settings
from tests.deploy.chart import CHART, helm, packaged, refused, release
from tests.deploy.conftest import Refusal
from tests.deploy.containers import container, containers
from tests.deploy.overlays import OVERLAYS, combined, named, of_kind, overlay

pytestmark = pytest.mark.cluster  # helm is built as the servers are

OUTSIDE: dict[str, Any] = {"cluster": "my-cluster", "temporal.address": "temporal.example.com:7233"}
COLLECTOR = "http://collector:4318"
CHOICES: dict[str, dict[str, Any]] = {
    "cluster-api": OUTSIDE | {"clusterAPI.enabled": True},
    "openshift": OUTSIDE | {"openshift.enabled": True},
    "temporal-dev": {"temporal.dev.enabled": True},
    "temporal-external": OUTSIDE,
    "temporal-mtls": OUTSIDE | {"temporal.clientCertificateSecret": "paramedic-temporal-tls"},
    "webhook": OUTSIDE | {"webhook.enabled": True},
}
"""How the chart is told to be as each overlay."""
KEPT_BY_HELM = "helm.sh/resource-policy"
OF_A_RELEASE = {
    "app.kubernetes.io/name": "paramedic",
    "app.kubernetes.io/instance": "paramedic",
    "app.kubernetes.io/version": "0.1.0",
    "app.kubernetes.io/managed-by": "Helm",
    "app.kubernetes.io/part-of": "paramedic",
    "helm.sh/chart": "paramedic-0.1.0",
}
"""The labels that Helm gives to every object of a release, and kustomize does not."""
LISTS_BY_NAME = ("env", "ports", "volumeMounts")
ANYTHING_ELSE: dict[str, Any] = OUTSIDE | {
    "image": {"repository": "registry/ours", "digest": f"sha256:{'a' * 64}", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "pull"}],
    "settings": {"PARAMEDIC_LONG_UPGRADE_SECONDS": 60, "PARAMEDIC_UPGRADE_PAUSE": "off"},
    "leaseNamespace.create": False,
    "webhook": {"enabled": True, "certManager": False, "caBundle": "YQ=="},
    "clusterAPI": {"enabled": True, "coreManagerOff": True},
    "priorityClass": {"create": False, "name": "system-cluster-critical"},
    "worker.replicas": 3,
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "podAnnotations": {"example.com/a": "b"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
}


@pytest.fixture(scope="module")
async def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return await packaged(tmp_path_factory.mktemp("chart"))


def by_name(objects: tuple[Object, ...]) -> dict[tuple[str, str, str], Object]:
    """The objects, without what Helm and kustomize each do in a way of their own."""
    found = {}
    for document in objects:
        metadata = dict(document["metadata"])
        metadata["name"] = re.sub(r"^(paramedic-settings)-\w+$", r"\1", metadata["name"])
        metadata["labels"] = _without_those_of_a_release(metadata)
        annotations = metadata.pop("annotations", {})
        metadata["annotations"] = {key: annotations[key] for key in annotations if key != KEPT_BY_HELM}
        key = (document["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in found
        found[key] = (_rolling(document) if document["kind"] == "Deployment" else document) | {
            "metadata": metadata
        }
    return found


def _without_those_of_a_release(metadata: Object) -> Object:
    return {key: value for key, value in metadata.get("labels", {}).items() if OF_A_RELEASE.get(key) != value}


def _rolling(deployment: Object) -> Object:
    """A Deployment, without what changes with its settings: the one by a name, the other by an annotation."""
    spec = deployment["spec"]
    template = spec["template"]
    metadata = {"labels": _without_those_of_a_release(template["metadata"])}
    pod = dict(template["spec"])
    for field in ("containers", "initContainers"):
        pod[field] = [_named_plainly(one) for one in pod.get(field, ())]
    return deployment | {"spec": spec | {"template": {"metadata": metadata, "spec": pod}}}


def _named_plainly(body: Object) -> Object:
    settings, *others = body["envFrom"]
    assert settings["configMapRef"]["name"].startswith("paramedic-settings")
    body = {key: value for key, value in body.items() if key != "imagePullPolicy"}
    return body | {"envFrom": others} | {name: _sorted(body.get(name, ())) for name in LISTS_BY_NAME}


def _sorted(listed: Iterable[Object]) -> list[Object]:
    return sorted(listed, key=lambda one: str(one["name"]))


def test_every_overlay_has_its_choices() -> None:
    assert set(CHOICES) == set(OVERLAYS)


@pytest.mark.parametrize("name", OVERLAYS)
async def test_chart_installs_what_the_overlay_does(name: str, chart: Path) -> None:
    by_helm, by_kustomize = by_name(await release(chart, CHOICES[name])), by_name(overlay(name))
    # Helm makes it by --create-namespace, and the page says how it is labelled.
    del by_kustomize["Namespace", "", "paramedic-system"]
    assert by_helm == by_kustomize


@pytest.mark.parametrize(
    ("components", "values"),
    [
        pytest.param(
            (
                "temporal-dev",
                "openshift",
                "openshift-machines",
                "cluster-api",
                "core-manager-off",
                "webhook",
                "notifications",
                "payload-keys",
                "evidence",
                "tracing",
            ),
            {
                "temporal.dev.enabled": True,
                "temporal.payloadKeysSecret": "paramedic-payload-keys",
                "openshift": {"enabled": True, "machineHealthChecks": True},
                "clusterAPI": {"enabled": True, "coreManagerOff": True},
                "webhook.enabled": True,
                "rights.evidence": True,
                "tracing": {"endpoint": COLLECTOR, "secret": "paramedic-tracing"},
                "notifications.secret": "paramedic-notifications",
            },
            id="all of it",
        ),
        pytest.param(
            ("temporal-dev", "openshift", "openshift-machines", "read-only-detector", "read-only-nodes"),
            {
                "temporal.dev.enabled": True,
                "openshift": {"enabled": True, "machineHealthChecks": True},
                "rights": {"readOnlyDetector": True, "readOnlyNodes": True},
            },
            id="machines of OpenShift, and less rights",
        ),
    ],
)
async def test_choices_together_install_what_their_components_do(
    components: tuple[str, ...], values: dict[str, Any], chart: Path, tmp_path: Path
) -> None:
    literals = [f"OTEL_EXPORTER_OTLP_ENDPOINT={COLLECTOR}"] if "tracing" in components else []
    by_kustomize = by_name(combined(tmp_path, *components, literals=literals))
    del by_kustomize["Namespace", "", "paramedic-system"]
    assert by_name(await release(chart, values)) == by_kustomize


async def test_lint_finds_nothing(chart: Path) -> None:
    for of in (CHART, chart):
        status, out, said = await helm("lint", "--strict", str(of), "--set", "temporal.address=a:7233")
        assert status == 0, out + said
        assert "WARNING" not in out


async def test_other_choices_are_taken_by_the_api_server_and_reach_every_pod(
    chart: Path, refusal: Refusal
) -> None:
    objects = await release(chart, ANYTHING_ELSE)

    assert await refusal(objects) == ""
    assert {one.spec["image"] for one in containers(objects)} == {f"registry/ours@sha256:{'a' * 64}"}
    worker = container(objects, "worker")
    assert worker.workload["spec"]["replicas"] == 3
    assert worker.pod["tolerations"][-1]["key"] == "infra"
    assert worker.pod["priorityClassName"] == "system-cluster-critical"
    assert worker.environment["PARAMEDIC_LONG_UPGRADE_SECONDS"] == "60"
    (asked,) = named(objects, "ValidatingWebhookConfiguration", "vnodehealthcheck.kb.io")["webhooks"]
    assert asked["clientConfig"]["caBundle"] == "YQ=="
    assert not {"Certificate", "Issuer", "PriorityClass", "Namespace"} & {
        document["kind"] for document in objects
    }


async def test_everything_follows_the_namespace_of_the_release_and_that_of_the_leases(chart: Path) -> None:
    values = CHOICES["temporal-dev"] | {"webhook.enabled": True, "leaseNamespace.name": "our-leases"}
    objects = await release(chart, values, namespace="elsewhere")

    text = str([document for document in objects if document["kind"] != "CustomResourceDefinition"])
    assert "paramedic-system" not in text
    assert "medik8s-leases" not in text
    worker = container(objects, "worker")
    assert worker.environment["PARAMEDIC_LEASE_NAMESPACE"] == "our-leases"


async def test_policies_let_the_port_of_temporal_through(chart: Path) -> None:
    objects = await release(chart, {"temporal.address": "[fd00::7]:443"})
    policy = named(objects, "NetworkPolicy", "paramedic-temporal")["spec"]
    assert policy["egress"] == [{"ports": [{"protocol": "TCP", "port": 443}]}]


async def test_no_setting_is_overridden_by_another_variable_of_its_pod(chart: Path) -> None:
    everything = OUTSIDE | {"webhook.enabled": True, "temporal.payloadKeysSecret": "keys"}
    detector = container(await release(chart, everything), "detector")
    for told in detector.spec["env"]:
        why = await refused(chart, OUTSIDE | {"settings": {told["name"]: "another"}})
        assert f"settings.{told['name']}: cannot be set here" in why


VERSIONED = OUTSIDE | {"worker.versioning.deployment": "paramedic-prod", "image.tag": "0.2.0"}


def version_of(deployment: Object) -> tuple[str, str, str]:
    """The image of a worker, the deployment in Temporal, and the build."""
    (one,) = deployment["spec"]["template"]["spec"]["containers"]
    environment = {told["name"]: told.get("value") for told in one["env"]}
    names = ("TEMPORAL_DEPLOYMENT_NAME", "TEMPORAL_WORKER_BUILD_ID")
    deployed, build = (environment.get(name, "") for name in names)
    return one["image"], deployed, build


async def test_worker_has_a_version_where_the_values_name_its_deployment(chart: Path) -> None:
    def worker(objects: tuple[Object, ...]) -> tuple[str, str, str]:
        return version_of(named(objects, "Deployment", "paramedic-worker"))

    assert worker(await release(chart, OUTSIDE))[1:] == ("", "")
    assert worker(await release(chart, VERSIONED)) == ("paramedic:0.2.0", "paramedic-prod", "0.2.0")
    by_digest = await release(chart, VERSIONED | {"image.digest": f"sha256:{'a' * 64}"})
    assert worker(by_digest)[2] == f"sha256-{'a' * 64}"
    named_build = await release(chart, VERSIONED | {"worker.versioning.buildId": "7"})
    assert worker(named_build)[1:] == ("paramedic-prod", "7")
    detector = named(named_build, "Deployment", "paramedic-detector")
    assert version_of(detector)[1:] == ("", "")


async def test_earlier_build_stays_as_a_deployment_of_its_own(chart: Path, refusal: Refusal) -> None:
    earlier = [{"buildId": "0.1.0", "tag": "0.1.0", "replicas": 1}]
    objects = await release(chart, VERSIONED | {"worker.versioning.previous": earlier})

    assert await refusal(objects) == ""
    kept, now = (
        named(objects, "Deployment", name) for name in ("paramedic-worker-0-1-0", "paramedic-worker")
    )
    assert version_of(kept) == ("paramedic:0.1.0", "paramedic-prod", "0.1.0")
    assert version_of(now) == ("paramedic:0.2.0", "paramedic-prod", "0.2.0")
    assert (kept["spec"]["replicas"], now["spec"]["replicas"]) == (1, 2)
    labels = kept["spec"]["template"]["metadata"]["labels"]
    assert kept["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels["app.kubernetes.io/name"] == "paramedic-worker"
    assert labels["paramedic.dev/build"] == "0-1-0"
    assert "paramedic.dev/build" not in now["spec"]["template"]["metadata"]["labels"]


async def test_a_setting_that_changes_rolls_the_pods(chart: Path) -> None:
    before, after = [
        container(await release(chart, OUTSIDE | {"cluster": name}), "worker").workload["spec"]["template"]
        for name in ("one", "two")
    ]
    assert before["metadata"] != after["metadata"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "temporal.address: must be set, or temporal.dev.enabled"),
        ({"temporal.adress": "a:7233"}, "additional properties 'adress' not allowed"),
        ({"temporal.address": "without-a-port"}, "does not match pattern"),
        (OUTSIDE | {"settings": {"BACK_OFF": 1}}, "additional properties 'BACK_OFF' not allowed"),
        (OUTSIDE | {"webhook": {"enabled": True, "certManager": False}}, "webhook.caBundle: must be set"),
        (
            OUTSIDE | {"worker.versioning.previous": [{"buildId": "1", "tag": "1"}]},
            "worker.versioning.previous: needs worker.versioning.deployment",
        ),
        (OUTSIDE | {"worker.versioning.deployment": "a.b"}, "does not match pattern"),
        (OUTSIDE | {"settings": {"TEMPORAL_DEPLOYMENT_NAME": "a"}}, "worker.versioning.deployment says it"),
        (OUTSIDE | {"settings": {"TEMPORAL_ADDRESS": "a:1"}}, "settings.TEMPORAL_ADDRESS: cannot be set"),
    ],
)
async def test_values_that_cannot_be_used_are_refused_by_name(
    values: dict[str, Any], why: str, chart: Path
) -> None:
    assert why in await refused(chart, values)


POLICIES: list[dict[str, Any]] = [
    {},
    {"ordersByAnnotation": False},
    {"shadow": True, "backOffLimit": "1h30m", "stalenessLimit": "45s"},
    {"backOffLimit": 0, "outageGuard": {}},
    {"outageGuard": {"minimumNodes": 5, "percentage": 80, "window": "2m", "holdLimit": "0"}},
    {"outageGuard": {"labels": {"example.com/site": 2, "topology.kubernetes.io/zone": 4}}},
    {"heldNodes": {"cordoned": True, "tainted": ["a.b/c"]}},
    {"heldNodes": {"atMost": "30m", "signs": ["a.b/c"], "without": [str(sign) for sign in OwnerSign]}},
    {"quorumLabels": ["a.b/c", "role=etcd"]},
    {
        "limits": {
            "maxInFlight": 100000,
            "maxInFlightByLabel": {"topology.kubernetes.io/zone": 1},
            "maxStartsPerHour": 10,
        }
    },
    {
        "maintenanceWindows": [
            {"name": "a", "schedule": "0 22 * * 1-5", "duration": "6h", "remediation": "Allowed"},
            {
                "name": "b",
                "schedule": "* * * * *",
                "duration": "1m",
                "remediation": "Blocked",
                "timeZone": "Europe/Berlin",
                "onlyNamed": True,
            },
        ]
    },
]


@pytest.mark.rule("rule 51")
@pytest.mark.parametrize("policy", POLICIES, ids=str)
async def test_policy_among_the_values_is_installed_as_it_stands_and_required(
    policy: dict[str, Any], chart: Path
) -> None:
    objects = await release(chart, OUTSIDE | {"policy": policy})
    stored = named(objects, "ConfigMap", POLICY)
    assert policy_of(stored["data"]) == Policy.model_validate(policy)
    for process in ("detector", "worker"):
        assert Settings.from_environment(container(objects, process).environment).requires_policy


async def test_without_a_policy_among_the_values_none_is_installed_or_required(chart: Path) -> None:
    objects = await release(chart, OUTSIDE)
    assert POLICY not in {config_map["metadata"]["name"] for config_map in of_kind(objects, "ConfigMap")}
    assert not Settings.from_environment(container(objects, "worker").environment).requires_policy
    chosen = {"policy": {}, "settings": {"PARAMEDIC_MISSING_POLICY": "allow"}}
    objects = await release(chart, OUTSIDE | chosen)
    assert not Settings.from_environment(container(objects, "worker").environment).requires_policy


@pytest.mark.parametrize(
    "policy",
    [
        "shadow: true",
        {"backoffLimit": "1h"},
        {"backOffLimit": "soon"},
        {"backOffLimit": 10},
        {"shadow": "true"},
        {"outageGuard": {"percentage": 101}},
        {"outageGuard": {"percent": 1}},
        {"heldNodes": {"tainted": "a"}},
        {"heldNodes": {"without": ["Nobody"]}},
        {"quorumLabels": {"role": "etcd"}},
        {"limits": {"maxInFlight": 0}},
        {"limits": {"maxInFlightByLabel": {"zone": "1"}}},
        {"maintenanceWindows": [{"name": "a"}]},
        {
            "maintenanceWindows": [
                {"name": "a", "schedule": "* * * *", "duration": "1h", "remediation": "Allowed"}
            ]
        },
        {"notifications": [{"name": "a", "urlFile": "a", "events": ["Held", "Held"]}]},
    ],
    ids=str,
)
async def test_policy_that_the_detector_would_refuse_is_refused_by_the_chart(
    policy: str | dict[str, Any], chart: Path
) -> None:
    assert "policy" in await refused(chart, OUTSIDE | {"policy": policy})
    if isinstance(policy, dict):
        with pytest.raises(InvalidPolicyError):
            Policy.parse(yaml.safe_dump(policy))


def test_schema_of_the_chart_knows_every_field_of_a_policy() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["policy"]
    parts: dict[str, type[BaseModel]] = {
        "outageGuard": OutageGuard,
        "heldNodes": HeldNodes,
        "limits": Limits,
        "maintenanceWindows": MaintenanceWindow,
    }
    assert set(schema["properties"]) == _aliases(Policy)
    for name, part in parts.items():
        found = schema["properties"][name]
        assert set(found.get("items", found)["properties"]) == _aliases(part)


def _aliases(model: type[BaseModel]) -> set[str | None]:
    return {field.alias for field in model.model_fields.values()}


def test_readme_of_the_chart_names_every_value() -> None:
    readme = (CHART / "README.md").read_text()
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert [name for name in leaves(values) if f"`{name}`" not in readme] == []


def leaves(values: dict[str, Any], of: str = "") -> Iterator[str]:
    """The names of all values, but for what stands in an open one."""
    for name, value in values.items():
        if isinstance(value, dict) and value and name != "resources":
            yield from leaves(value, f"{of}{name}.")
        else:
            yield f"{of}{name}"
