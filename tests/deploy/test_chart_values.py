"""The values with which a user fits the chart into a cluster: names, scheduling, networks, metrics."""

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from kube.resource import Object
from release.manifests import pack_chart
from runtime.settings import Settings
from tests.deploy.applying import api_server
from tests.deploy.chart import helm, packaged, refused, release
from tests.deploy.conftest import Refusal
from tests.deploy.containers import container, containers
from tests.deploy.overlays import DEPLOY, combined, named, of_kind

pytestmark = pytest.mark.cluster  # helm is built as the servers are

OUTSIDE: dict[str, Any] = {"temporal.address": "temporal.example.com:7233"}
FOR_PROMETHEUS = {"release": "monitoring"}
METRICS: dict[str, Any] = {
    "services": {"enabled": True, "annotations": {"example.com/a": "b"}},
    "podMonitor": {
        "enabled": True,
        "labels": {"release": "monitoring"},
        "interval": "15s",
        "scrapeTimeout": "5s",
    },
    "prometheusRule": {"enabled": True, "kubeStateMetrics": True, "labels": {"release": "monitoring"}},
    "dashboard": {"enabled": True},
}
FITTED: dict[str, Any] = OUTSIDE | {
    "commonLabels": {"team": "sre"},
    "image.pullPolicy": "Always",
    "imagePullSecrets": [{"name": "registry"}],
    "podLabels": {"app.kubernetes.io/name": "not-ours", "sidecar": "no"},
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
        {
            "topologyKey": "row",
            "maxSkew": 2,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"a": "b"}},
        },
    ],
    "podSecurityContext": {"runAsUser": 1234, "fsGroup": 1234},
    "containerSecurityContext": {"seLinuxOptions": {"level": "s0"}},
    "extraEnv": [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "extraEnvFrom": [{"secretRef": {"name": "proxy", "optional": True}}],
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/ssl/certs", "readOnly": True}],
    "podSpec": {"dnsConfig": {"options": [{"name": "ndots", "value": "1"}]}},
    "detector.podDisruptionBudget.maxUnavailable": "50%",
    "metrics": METRICS,
}


@pytest.fixture(scope="module")
async def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return await packaged(tmp_path_factory.mktemp("chart"))


@pytest.fixture(scope="module")
async def fitted(chart: Path) -> tuple[Object, ...]:
    return await release(chart, FITTED)


def pods(objects: tuple[Object, ...]) -> list[Object]:
    return [deployment["spec"]["template"] for deployment in of_kind(objects, "Deployment")]


async def test_api_server_accepts_a_release_with_all_values(
    fitted: tuple[Object, ...], refusal: Refusal
) -> None:
    assert await refusal(fitted) == ""


def test_values_of_pods_reach_every_pod(fitted: tuple[Object, ...]) -> None:
    found = pods(fitted)
    assert len(found) == 2
    for pod in found:
        spec = pod["spec"]
        assert spec["imagePullSecrets"] == [{"name": "registry"}]
        assert spec["affinity"] == FITTED["affinity"]
        assert spec["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
            "runAsUser": 1234,
            "fsGroup": 1234,
        }
        assert spec["dnsConfig"] == FITTED["podSpec"]["dnsConfig"]
        assert spec["volumes"] == FITTED["extraVolumes"]
        assert {"sidecar": "no", "team": "sre"}.items() <= pod["metadata"]["labels"].items()


def test_values_of_containers_reach_every_container(fitted: tuple[Object, ...]) -> None:
    every = containers(fitted, {"proxy": {}})
    found = [placed.spec for placed in every if placed.workload["kind"] == "Deployment"]
    assert [spec["name"] for spec in found] == ["detector", "setup", "worker"]
    for spec in found:
        assert spec["imagePullPolicy"] == "Always"
        assert spec["env"][-2:] == FITTED["extraEnv"]
        assert spec["envFrom"][:1] == FITTED["extraEnvFrom"]
        assert spec["volumeMounts"] == FITTED["extraVolumeMounts"]
        assert spec["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert spec["securityContext"]["seLinuxOptions"] == {"level": "s0"}


def test_values_cannot_change_what_selects_a_pod_or_gives_it_its_rights(fitted: tuple[Object, ...]) -> None:
    for deployment in of_kind(fitted, "Deployment"):
        template = deployment["spec"]["template"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        assert template["spec"]["serviceAccountName"] == deployment["metadata"]["name"]


def test_spread_constraint_without_a_selector_selects_the_pods_of_its_process(
    fitted: tuple[Object, ...],
) -> None:
    for deployment in of_kind(fitted, "Deployment"):
        rack, row = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert rack["labelSelector"] == deployment["spec"]["selector"]
        assert row["labelSelector"] == {"matchLabels": {"a": "b"}}


def test_every_object_has_the_standard_labels(fitted: tuple[Object, ...]) -> None:
    standard = {
        "app.kubernetes.io/instance": "paramedic",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/part-of": "paramedic",
        "app.kubernetes.io/version": "0.1.0",
        "helm.sh/chart": "paramedic-0.1.0",
        "team": "sre",
    }
    for document in fitted:
        assert standard.items() <= document["metadata"]["labels"].items(), document["metadata"]["name"]


def test_disruption_budget_is_the_value_of_its_process(fitted: tuple[Object, ...]) -> None:
    found = {
        budget["metadata"]["name"]: budget["spec"]["maxUnavailable"]
        for budget in of_kind(fitted, "PodDisruptionBudget")
    }
    assert found == {"paramedic-detector": "50%", "paramedic-worker": 1}


async def test_everything_names_the_service_accounts_of_the_values(chart: Path, refusal: Refusal) -> None:
    values = OUTSIDE | {
        "detector.serviceAccount": {"name": "eyes", "annotations": {"eks.amazonaws.com/role-arn": "arn"}},
        "worker.serviceAccount": {"create": False, "name": "hands"},
        "openshift.enabled": True,
        "clusterAPI.enabled": True,
        "rights.evidence": True,
        "webhook.enabled": True,
    }
    objects = await release(chart, values)

    assert await refusal(objects) == ""
    (created,) = of_kind(objects, "ServiceAccount")
    assert created["metadata"]["name"] == "eyes"
    assert created["metadata"]["annotations"] == {"eks.amazonaws.com/role-arn": "arn"}
    assert [pod["spec"]["serviceAccountName"] for pod in pods(objects)] == ["eyes", "hands"]
    bindings = of_kind(objects, "ClusterRoleBinding", "RoleBinding")
    assert {subject["name"] for binding in bindings for subject in binding["subjects"]} == {"eyes", "hands"}
    policies = json.dumps(of_kind(objects, "ValidatingAdmissionPolicy"))
    assert "serviceaccount:paramedic-system:eyes" in policies
    assert "serviceaccount:paramedic-system:paramedic-" not in policies
    settings = Settings.from_environment(container(objects, "worker").environment)
    assert set(settings.service_accounts.values()) == {"eyes", "hands"}


async def test_service_account_may_have_the_default_name_of_the_other(chart: Path) -> None:
    values = OUTSIDE | {
        "detector.serviceAccount.name": "paramedic-worker",
        "worker.serviceAccount.name": "paramedic-detector",
    }
    objects = await release(chart, values)
    assert {
        (document["metadata"]["name"].split("-")[1], subject["name"])
        for document in objects
        for subject in document.get("subjects", ())
    } == {("detector", "paramedic-worker"), ("worker", "paramedic-detector")}
    user = "system:serviceaccount:paramedic-system:paramedic-"
    policies = {
        policy["metadata"]["name"]: json.dumps(policy)
        for policy in of_kind(objects, "ValidatingAdmissionPolicy")
    }
    assert f"{user}worker" in policies["paramedic-detector-writes"]
    assert f"{user}detector" not in policies["paramedic-detector-writes"]


async def test_empty_lists_and_maps_are_the_default(chart: Path) -> None:
    names = (
        "commonLabels",
        "containerSecurityContext",
        "extraEnv",
        "extraEnvFrom",
        "extraVolumeMounts",
        "extraVolumes",
        "imagePullSecrets",
        "networkPolicy.egress",
        "nodeSelector",
        "podAnnotations",
        "podLabels",
        "podSecurityContext",
        "podSpec",
        "settings",
        "tolerations",
        "topologySpreadConstraints",
    )
    assert await release(chart, OUTSIDE | dict.fromkeys(names)) == await release(chart, OUTSIDE)


async def test_numbers_are_written_in_full(chart: Path) -> None:
    versioning = {"deployment": "a", "previous": [{"buildId": "1", "tag": "a", "replicas": 0}]}
    values = {"settings": {"PARAMEDIC_A": 10000000, "PARAMEDIC_B": 0.5}, "worker.versioning": versioning}
    objects = await release(chart, OUTSIDE | values)
    settings = named(objects, "ConfigMap", "paramedic-settings")["data"]
    assert (settings["PARAMEDIC_A"], settings["PARAMEDIC_B"]) == ("10000000", "0.5")
    assert named(objects, "Deployment", "paramedic-worker-1")["spec"]["replicas"] == 0


async def test_trial_server_has_the_namespace_of_the_values(chart: Path) -> None:
    objects = await release(chart, {"temporal.dev.enabled": True, "temporal.namespace": "other"})
    pod = named(objects, "StatefulSet", "temporal-dev")["spec"]["template"]["spec"]
    assert "--namespace=other" in pod["containers"][0]["args"]


async def test_networks_are_those_of_the_values(chart: Path, refusal: Refusal) -> None:
    proxy = {"to": [{"ipBlock": {"cidr": "10.0.0.5/32"}}], "ports": [{"port": 3128}]}
    values = OUTSIDE | {
        "networkPolicy": {
            "metricsFrom": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}],
            "apiServers": {"ports": [8443], "cidrs": ["10.0.0.1/32", "fd00::1/128"]},
            "temporal": {"cidrs": ["10.1.0.0/16"]},
            "tracing": {"cidrs": ["10.2.0.0/16"]},
            "notifications": {"ports": [8443], "cidrs": ["10.3.0.0/16"]},
            "egress": [proxy],
        },
        "tracing.endpoint": "https://collector/otlp",
        "notifications.secret": "receivers",
    }
    objects = await release(chart, values)

    assert await refusal(of_kind(objects, "NetworkPolicy")) == ""
    ours = named(objects, "NetworkPolicy", "paramedic")["spec"]
    (metrics,) = ours["ingress"]
    assert metrics["from"] == values["networkPolicy"]["metricsFrom"]
    dns, servers, more = ours["egress"]
    assert {port["port"] for port in dns["ports"]} == {53}
    assert servers == {
        "ports": [{"protocol": "TCP", "port": 8443}],
        "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}, {"ipBlock": {"cidr": "fd00::1/128"}}],
    }
    assert more == proxy
    (traces,) = named(objects, "NetworkPolicy", "paramedic-tracing")["spec"]["egress"]
    assert traces == {
        "ports": [{"protocol": "TCP", "port": 443}],
        "to": [{"ipBlock": {"cidr": "10.2.0.0/16"}}],
    }
    (told,) = named(objects, "NetworkPolicy", "paramedic-notifications")["spec"]["egress"]
    assert told == {
        "ports": [{"protocol": "TCP", "port": 8443}],
        "to": [{"ipBlock": {"cidr": "10.3.0.0/16"}}],
    }
    settings = named(objects, "ConfigMap", "paramedic-settings")["data"]
    assert settings["OTEL_EXPORTER_OTLP_ENDPOINT"] == "https://collector/otlp"
    temporal = named(objects, "NetworkPolicy", "paramedic-temporal")["spec"]["egress"]
    assert temporal[0]["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]


async def test_without_a_source_of_metrics_no_pod_may_read_them(chart: Path) -> None:
    # A rule with an empty list of sources would allow every Pod.
    objects = await release(chart, OUTSIDE | {"networkPolicy.metricsFrom": []})
    assert named(objects, "NetworkPolicy", "paramedic")["spec"]["ingress"] == []


def test_metrics_have_a_service_a_monitor_and_alerts(fitted: tuple[Object, ...], tmp_path: Path) -> None:
    monitor = named(fitted, "PodMonitor", "paramedic")
    assert monitor["metadata"]["labels"]["release"] == "monitoring"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint == {"port": "http", "path": "/metrics", "interval": "15s", "scrapeTimeout": "5s"}
    for document in of_kind(fitted, "Service"):
        assert document["metadata"]["annotations"] == {"example.com/a": "b"}
    by_kustomize = combined(tmp_path, "temporal-external", "prometheus", "kube-state-metrics")
    for name in ("paramedic", "paramedic-kube-state-metrics"):
        assert named(by_kustomize, "PrometheusRule", name)["spec"] == rules(fitted, name)
    assert {document["metadata"]["name"] for document in of_kind(by_kustomize, "Service", "PodMonitor")} == {
        document["metadata"]["name"] for document in of_kind(fitted, "Service", "PodMonitor")
    }


def rules(objects: tuple[Object, ...], name: str = "paramedic") -> Object:
    spec: Object = named(objects, "PrometheusRule", name)["spec"]
    return spec


async def test_links_of_alerts_lead_to_the_published_page(chart: Path) -> None:
    page = "https://pages.example.com/runbook/alerts.html"
    values = {"metrics.prometheusRule.enabled": True, "metrics.prometheusRule.runbook": page}
    (group,) = rules(await release(chart, OUTSIDE | values))["groups"]
    assert [rule["annotations"]["runbook_url"] for rule in group["rules"]] == [
        f"{page}#{rule['alert'].lower()}" for rule in group["rules"]
    ]


def test_dashboard_is_the_map_of_the_component(fitted: tuple[Object, ...], tmp_path: Path) -> None:
    by_chart = named(fitted, "ConfigMap", "paramedic-dashboard")
    by_kustomize = named(
        combined(tmp_path, "temporal-external", "grafana"), "ConfigMap", "paramedic-dashboard"
    )
    assert by_chart["data"] == by_kustomize["data"]
    assert by_chart["metadata"]["namespace"] == by_kustomize["metadata"]["namespace"]
    assert by_chart["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert by_kustomize["metadata"]["labels"]["grafana_dashboard"] == "1"


async def test_labels_of_the_dashboard_replace_that_of_the_sidecar(chart: Path) -> None:
    values = {"metrics.dashboard": {"enabled": True, "labels": {"dashboards": "sre"}}}
    labels = named(await release(chart, OUTSIDE | values), "ConfigMap", "paramedic-dashboard")["metadata"][
        "labels"
    ]
    assert labels["dashboards"] == "sre"
    assert "grafana_dashboard" not in labels


async def test_no_monitor_is_installed_by_default(chart: Path) -> None:
    objects = await release(chart, OUTSIDE)
    assert of_kind(objects, "PodMonitor", "PrometheusRule", "Service") == []
    assert "paramedic-dashboard" not in {one["metadata"]["name"] for one in of_kind(objects, "ConfigMap")}


async def test_release_upgrades_the_crds_and_keeps_them_when_it_ends(chart: Path) -> None:
    stored = {
        yaml.safe_load(file.read_text())["metadata"]["name"] for file in (DEPLOY / "base" / "crds").iterdir()
    }
    # Without --include-crds: Helm upgrades the objects of templates, and no others.
    status, out, said = await helm("template", "paramedic", str(chart), "--set", "temporal.address=a:1")
    assert status == 0, said
    crds = of_kind(tuple(yaml.load_all(out, yaml.CSafeLoader)), "CustomResourceDefinition")
    assert {crd["metadata"]["name"] for crd in crds} == stored
    assert {crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds} == {"keep"}
    assert of_kind(await release(chart, OUTSIDE | {"crds.enabled": False}), "CustomResourceDefinition") == []


async def test_chart_of_a_release_has_no_link_and_installs_the_same(chart: Path, tmp_path: Path) -> None:
    released = tmp_path / "paramedic-0.1.0.tgz"
    pack_chart(ROOT, released, datetime(2026, 11, 1, tzinfo=UTC))
    with tarfile.open(released) as packed:
        assert [member.name for member in packed.getmembers() if not member.isfile()] == []
    assert await release(released, FITTED) == await release(chart, FITTED)


async def test_changed_secret_rolls_the_pods_with_the_next_upgrade(
    chart: Path, full_control_plane: ControlPlane
) -> None:
    kubeconfig = str(full_control_plane.kubeconfig)
    online = ("--dry-run=server", "--take-ownership", "--kubeconfig", kubeconfig, "--output", "json")
    named_secret = ("--namespace", "kube-system", "--set", "temporal.address=a:1,temporal.secret=restarts")

    async def checksums() -> set[str | None]:
        status, out, said = await helm("install", "paramedic", str(chart), *online, *named_secret)
        assert status == 0, said
        found = pods(tuple(yaml.load_all(json.loads(out)["manifest"], yaml.CSafeLoader)))
        return {pod["metadata"]["annotations"].get("checksum/secrets") for pod in found}

    async with api_server(full_control_plane.kubeconfig) as asked:
        assert await checksums() == {None}
        secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "restarts"}}
        secret["metadata"]["namespace"] = "kube-system"
        assert await asked.apply(secret | {"stringData": {"TEMPORAL_API_KEY": "old"}}) == ""
        (before,) = await checksums()
        assert await asked.apply(secret | {"stringData": {"TEMPORAL_API_KEY": "new"}}) == ""
        (after,) = await checksums()
    assert None not in {before, after}
    assert before != after


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            {"extraEnv": [{"name": "PARAMEDIC_CLUSTER", "value": "b"}]},
            "extraEnv: PARAMEDIC_CLUSTER cannot be set",
        ),
        ({"extraEnv": [{"name": "A B"}]}, "does not match pattern"),
        ({"extraEnv": [{"name": "A"}, {"name": "A"}]}, "extraEnv: A is there twice"),
        ({"extraVolumes": [{"name": "payload-keys"}]}, "extraVolumes: the chart has a volume payload-keys"),
        (
            {"extraVolumeMounts": [{"name": "ca", "mountPath": "/ca"}]},
            "extraVolumeMounts: there is no volume ca",
        ),
        ({"settings": {"TEMPORAL_API_KEY": "key"}}, "put it into temporal.secret"),
        ({"settings": {"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}}, "put it into tracing.secret"),
        ({"tracing.endpoint": "collector:4318"}, "/tracing/endpoint"),
        ({"worker.serviceAccount.name": "default"}, "worker.serviceAccount.name: must not be default"),
        ({"openshift.machineHealthChecks": True}, "needs openshift.enabled"),
        ({"clusterAPI.coreManagerOff": True}, "needs clusterAPI.enabled"),
        ({"temporal.dev.enabled": True}, "temporal.address: cannot be set with temporal.dev.enabled"),
        ({"worker.serviceAccount": {"create": False}}, "worker.serviceAccount.name: must be set"),
        ({"worker.podDisruptionBudget.maxUnavailable": 0}, "maxUnavailable"),
        ({"worker.podDisruptionBudget.maxUnavailable": "0%"}, "maxUnavailable"),
        ({"temporal.secret": "a}, x: {b"}, "/temporal/secret"),
        ({"priorityClass.name": "a\nb: c"}, "/priorityClass/name"),
        ({"leaseNamespace.name": "a b"}, "/leaseNamespace/name"),
        ({"temporal.namespace": "a\nb"}, "/temporal/namespace"),
        ({"temporal.address": "a b:1"}, "/temporal/address"),
        ({"image.repository": "a b"}, "/image/repository"),
        ({"image.tag": "a\nb"}, "/image/tag"),
        ({"temporal.dev": {"enabled": True, "storage": "1Gi}"}}, "/temporal/dev/storage"),
        ({"networkPolicy.apiServers.cidrs": ["10.0.0.1"]}, "/networkPolicy/apiServers/cidrs"),
        ({"networkPolicy.temporal.cidrs": ["10.0.0.0/33"]}, "/networkPolicy/temporal/cidrs"),
        ({"networkPolicy.egress": [{}]}, "/networkPolicy/egress"),
        ({"commonLabels": {"a": "b c"}}, "/commonLabels"),
        ({"webhook": {"enabled": True, "caBundle": "a b"}}, "/webhook/caBundle"),
        ({"imagePullSecrets": ["registry"]}, "/imagePullSecrets"),
        ({"temporal.address": "a:99999"}, "/temporal/address"),
        ({"podLabels": {"a b": "c"}}, "/podLabels"),
        ({"podLabels": {"paramedic.dev/build": "1"}}, "podLabels: paramedic.dev/build cannot be set"),
        ({"podAnnotations": {"a b": "c"}}, "/podAnnotations"),
        ({"podSpec": {"serviceAccountName": "other"}}, "podSpec.serviceAccountName: cannot be set"),
        ({"podSpec": {"enableServiceLinks": True}}, "podSpec.enableServiceLinks: cannot be set"),
        ({"podSpec": {"initContainers": []}}, "podSpec.initContainers: cannot be set"),
        (
            {"detector.serviceAccount": {"name": "a"}, "worker.serviceAccount": {"name": "a"}},
            "worker.serviceAccount.name: must differ",
        ),
        (
            {
                "worker.versioning": {
                    "deployment": "a",
                    "previous": [{"buildId": "1.0", "tag": "a"}, {"buildId": "1-0", "tag": "b"}],
                }
            },
            "worker.versioning.previous: two builds",
        ),
        ({"crds.keep": None}, "missing property 'keep'"),
        ({"networkPolicy": None}, "missing property 'networkPolicy'"),
        ({"detector.replicas": None}, "missing property 'replicas'"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_value_that_would_break_the_release_is_refused_by_name(
    values: dict[str, Any], why: str, chart: Path
) -> None:
    said = await refused(chart, OUTSIDE | values)
    assert why in said.replace("at '/", "/").replace(".", "/") or why in said
