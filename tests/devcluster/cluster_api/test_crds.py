"""The CRDs of Cluster API take, refuse and show what its own do, in the versions that are served."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from devcluster import cluster_api_crds
from devcluster.cluster_api_crds import NewestVersion
from devcluster.control_plane import ControlPlane
from kube.client import Client
from kube.errors import Invalid, KindUnknown
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.support.api.columns import columns

pytestmark = pytest.mark.cluster

NAMESPACE, NAME = "default", "of-a-crd-test"
SINCE = "2026-01-02T03:04:05Z"
BOTH = ("v1beta2", "v1beta1")
SELECTS = {"clusterName": "east", "selector": {"matchLabels": {"pool": "a"}}}
SAID = {
    "type": "OwnerRemediated",
    "status": "False",
    "reason": "WaitingForRemediation",
    "message": "Waiting for remediation",
    "lastTransitionTime": SINCE,
}
SAID_IN_THE_OLD_FORM = SAID | {"severity": "Warning"}
TEMPLATE = {"apiVersion": "demo.paramedic.dev/v1", "kind": "PowerCycleRemediationTemplate", "name": "a"}


def resource(version: str, kind: str) -> Resource:
    return Resource(f"cluster.x-k8s.io/{version}", kind, f"{kind.lower()}s", namespaced=True)


def checks(version: str) -> Resource:
    return resource(version, "MachineHealthCheck")


def of(kind: Resource, **fields: Any) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": NAME}} | fields


async def spec_of(management: Transport, version: str, **spec: Any) -> Object:
    """The spec of a MachineHealthCheck as it would be stored; raises Invalid when it is refused."""
    path, query = checks(version).path(NAMESPACE), (("dryRun", "All"),)
    body = of(checks(version), spec=SELECTS | spec)
    answer = await management.request("POST", path, query=query, body=body)
    stored: Object = json.loads(answer)["spec"]
    return stored


def node_conditions(**fields: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300} | fields
    return {"checks": {"unhealthyNodeConditions": [condition]}}


def machine_conditions(**fields: Any) -> dict[str, Any]:
    condition = {"type": "InfrastructureReady", "status": "False", "timeoutSeconds": 300} | fields
    return {"checks": {"unhealthyMachineConditions": [condition]}}


def trigger(**fields: Any) -> dict[str, Any]:
    return {"remediation": {"triggerIf": fields}}


def template(**fields: Any) -> dict[str, Any]:
    return {"remediation": {"templateRef": TEMPLATE | fields}}


def old_conditions(**fields: Any) -> list[dict[str, Any]]:
    return [{"type": "Ready", "status": "Unknown", "timeout": "5m"} | fields]


@pytest.mark.parametrize("version", BOTH)
async def test_nothing_but_a_cluster_and_a_selector_is_needed_and_nothing_is_filled_in(
    management: Transport, version: str
) -> None:
    assert await spec_of(management, version) == SELECTS


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        pytest.param("v1beta2", {"checks": {"nodeStartupTimeoutSeconds": 0}}, id="no startup timer"),
        pytest.param("v1beta2", node_conditions(timeoutSeconds=0), id="no time"),
        pytest.param("v1beta2", node_conditions(status="Maybe"), id="a status of no condition"),
        pytest.param("v1beta2", machine_conditions(), id="a machine condition"),
        pytest.param("v1beta2", trigger(unhealthyLessThanOrEqualTo=-1), id="a negative number"),
        pytest.param("v1beta2", trigger(unhealthyLessThanOrEqualTo="150%"), id="more than all"),
        pytest.param("v1beta2", trigger(unhealthyLessThanOrEqualTo="5"), id="digits"),
        pytest.param("v1beta2", trigger(unhealthyInRange="[5-3]"), id="a range without anything in it"),
        pytest.param("v1beta2", template(), id="a template"),
        pytest.param("v1beta1", {"unhealthyConditions": []}, id="no conditions"),
        pytest.param("v1beta1", {"unhealthyConditions": old_conditions()}, id="an old condition"),
        pytest.param("v1beta1", {"maxUnhealthy": -1, "unhealthyRange": "[1-2]"}, id="an old threshold"),
        pytest.param("v1beta1", {"nodeStartupTimeout": "about 10m"}, id="any text for a duration"),
        pytest.param("v1beta1", {"remediationTemplate": {}}, id="an empty template reference"),
        pytest.param("v1beta1", node_conditions(), id="what v1beta2 has"),
        pytest.param("v1beta2", {"maxUnhealthy": "40%"}, id="what v1beta1 has"),
    ],
)
async def test_check_is_stored_as_it_was_written(
    management: Transport, version: str, spec: dict[str, Any]
) -> None:
    assert await spec_of(management, version, **spec) == SELECTS | spec


LONG_NAME, LONG_TYPE = "x" * 64, "x" * 317


@pytest.mark.parametrize(
    ("version", "spec", "field"),
    [
        *(pytest.param(v, {"clusterName": ""}, "clusterName", id=f"{v}: of no cluster") for v in BOTH),
        *(pytest.param(v, {"clusterName": LONG_NAME}, "clusterName", id=f"{v}: a long name") for v in BOTH),
        *(pytest.param(v, {"selector": None}, "selector", id=f"{v}: without a selector") for v in BOTH),
        pytest.param("v1beta2", {"checks": {}}, "checks", id="checks for nothing"),
        pytest.param(
            "v1beta2", {"checks": {"unhealthyNodeConditions": []}}, "unhealthyNodeConditions", id="none"
        ),
        pytest.param(
            "v1beta2",
            {"checks": {"nodeStartupTimeoutSeconds": -1}},
            "nodeStartupTimeoutSeconds",
            id="a negative startup timer",
        ),
        pytest.param("v1beta2", node_conditions(type=""), "type", id="a condition of no type"),
        pytest.param("v1beta2", node_conditions(timeoutSeconds=-1), "timeoutSeconds", id="negative time"),
        pytest.param("v1beta2", node_conditions(timeoutSeconds=None), "timeoutSeconds", id="without time"),
        pytest.param("v1beta2", machine_conditions(type="Ready"), "type", id="a condition of the Machine"),
        pytest.param("v1beta2", machine_conditions(type="OwnerRemediated"), "type", id="a mark"),
        pytest.param("v1beta2", machine_conditions(type="a b"), "type", id="a type with a space"),
        pytest.param("v1beta2", machine_conditions(type=LONG_TYPE), "type", id="a type that is too long"),
        pytest.param("v1beta2", machine_conditions(status="Maybe"), "status", id="a status of none"),
        pytest.param("v1beta2", {"remediation": {}}, "remediation", id="remediation of nothing"),
        pytest.param("v1beta2", trigger(), "triggerIf", id="a trigger of nothing"),
        pytest.param("v1beta2", trigger(unhealthyInRange="3-5"), "unhealthyInRange", id="no brackets"),
        pytest.param("v1beta2", trigger(unhealthyInRange="[-1-5]"), "unhealthyInRange", id="a minus"),
        pytest.param("v1beta2", template(name=None), "name", id="a template of no name"),
        pytest.param("v1beta2", template(apiVersion="v1"), "apiVersion", id="a template of no group"),
        pytest.param("v1beta2", template(kind="a b"), "kind", id="a template of no kind"),
        pytest.param(
            "v1beta1", {"unhealthyConditions": old_conditions(type="")}, "type", id="an old one of no type"
        ),
        pytest.param(
            "v1beta1",
            {"unhealthyMachineConditions": old_conditions(type="Ready")},
            "type",
            id="an old condition of the Machine",
        ),
        pytest.param(
            "v1beta1", {"unhealthyMachineConditions": []}, "unhealthyMachineConditions", id="no old ones"
        ),
        pytest.param("v1beta1", {"unhealthyRange": "[1,2]"}, "unhealthyRange", id="an old range"),
    ],
)
async def test_check_is_refused_by_the_name_of_its_field(
    management: Transport, version: str, spec: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid, match=rf"spec\.(\S+\.)?{field}"):
        await spec_of(management, version, **spec)


@pytest.fixture(scope="module")
async def client(management: Transport) -> Client:
    return Client(management, "test")


@pytest.fixture
async def check(client: Client) -> AsyncIterator[Client]:
    """A client of a cluster with a check of this name."""
    await client.create(checks("v1beta2"), of(checks("v1beta2"), spec=SELECTS), NAMESPACE)
    yield client
    await client.delete(checks("v1beta1"), NAME, NAMESPACE)


async def write_status(client: Client, kind: Resource, **status: Any) -> Object:
    """The status as it is stored then."""
    answer = await client.merge_patch(kind, NAME, {"status": status}, NAMESPACE, "status")
    stored: Object = answer["status"]
    return stored


async def test_check_stays_with_its_cluster(check: Client) -> None:
    with pytest.raises(Invalid, match="field is immutable"):
        await check.merge_patch(checks("v1beta2"), NAME, {"spec": {"clusterName": "west"}}, NAMESPACE)


async def test_status_of_a_check_is_written_apart_and_shown_by_the_columns_of_the_version(
    check: Client, management: Transport
) -> None:
    numbers = {"expectedMachines": 5, "currentHealthy": 3, "remediationsAllowed": 0, "targets": ["a"]}
    twins = {"deprecated": {"v1beta1": {"conditions": [SAID_IN_THE_OLD_FORM]}}}
    written = numbers | twins | {"conditions": [SAID], "observedGeneration": 1}
    assert await write_status(check, checks("v1beta2"), **written) == written
    shown = await columns(management, checks("v1beta2"), NAME, NAMESPACE)
    assert list(shown) == ["Name", "Cluster", "Replicas", "Healthy", "Age"]
    assert list(shown.values())[:-1] == [NAME, "east", 5, 3]
    shown = await columns(management, checks("v1beta1"), NAME, NAMESPACE)
    assert list(shown) == ["Name", "Cluster", "ExpectedMachines", "MaxUnhealthy", "CurrentHealthy", "Age"]


async def test_all_kinds_are_of_the_category_of_cluster_api(management: Transport) -> None:
    """The category makes `kubectl get cluster-api` show them."""
    served = json.loads(await management.request("GET", "/apis/cluster.x-k8s.io/v1beta2"))["resources"]
    kinds = {version["kind"]: version for version in served if "/" not in version["name"]}
    assert {kind["categories"][0] for kind in kinds.values()} == {"cluster-api"}
    assert kinds["MachineHealthCheck"]["shortNames"] == ["mhc", "mhcs"]


@pytest.mark.parametrize(
    ("version", "status", "field"),
    [
        pytest.param("v1beta2", {"expectedMachines": -1}, "expectedMachines", id="a negative number"),
        pytest.param("v1beta2", {"observedGeneration": 0}, "observedGeneration", id="no generation"),
        pytest.param("v1beta2", {"conditions": [SAID | {"reason": ""}]}, "reason", id="without a reason"),
        pytest.param("v1beta2", {"conditions": [SAID, SAID]}, "conditions", id="twice the same type"),
        pytest.param(
            "v1beta1",
            {"conditions": [SAID | {"message": ""}]},
            "message",
            id="an empty message in the old form",
        ),
        pytest.param(
            "v1beta1", {"v1beta2": {"conditions": [SAID | {"reason": "a b"}]}}, "reason", id="a twin's reason"
        ),
    ],
)
async def test_status_is_refused_by_the_name_of_its_field(
    check: Client, version: str, status: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid, match=field):
        await check.merge_patch(checks(version), NAME, {"status": status}, NAMESPACE, "status")


MACHINES, OLD_MACHINES = resource("v1beta2", "Machine"), resource("v1beta1", "Machine")
INFRASTRUCTURE = {"type": "InfrastructureReady", "status": "True", "lastTransitionTime": SINCE}


async def test_versions_are_switched_under_a_running_api_server_and_each_hands_out_what_is_stored(
    client: Client, management_cluster: ControlPlane
) -> None:
    await cluster_api_crds.apply(management_cluster.kubeconfig, NewestVersion.V1BETA1)
    with pytest.raises(KindUnknown):
        await client.list(MACHINES)
    spec = SELECTS | {"unhealthyConditions": old_conditions(), "maxUnhealthy": "40%"}
    await client.create(checks("v1beta1"), of(checks("v1beta1"), spec=spec), NAMESPACE)
    await client.create(OLD_MACHINES, of(OLD_MACHINES, spec={"clusterName": "east"}), NAMESPACE)
    old = {"conditions": [INFRASTRUCTURE, SAID_IN_THE_OLD_FORM]}
    assert await write_status(client, OLD_MACHINES, **old) == old

    await cluster_api_crds.apply(management_cluster.kubeconfig)
    assert (await client.get(checks("v1beta2"), NAME, NAMESPACE))["spec"] == spec
    now = {"conditions": [INFRASTRUCTURE, SAID], "deprecated": {"v1beta1": old}}
    assert await write_status(client, MACHINES, **now) == now  # what others said stays as they said it
    twin = (await client.get(OLD_MACHINES, NAME, NAMESPACE))["status"]["deprecated"]
    assert twin == now["deprecated"]

    assert (await client.get(checks("v1beta1"), NAME, NAMESPACE))["spec"] == spec
    await client.delete(checks("v1beta1"), NAME, NAMESPACE)
    await client.delete(OLD_MACHINES, NAME, NAMESPACE)


async def test_field_that_the_stored_version_lacks_is_not_kept(client: Client) -> None:
    await client.create(MACHINES, of(MACHINES, spec={"clusterName": "east"}), NAMESPACE)
    try:
        stored = await write_status(client, OLD_MACHINES, nodeRef={"kind": "Node", "name": "n", "uid": "u"})
        assert stored["nodeRef"] == {"name": "n"}
    finally:
        await client.delete(MACHINES, NAME, NAMESPACE)


async def test_machine_is_of_a_cluster(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec\.clusterName"):
        await client.create(MACHINES, of(MACHINES, spec={}), NAMESPACE)
