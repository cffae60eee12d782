"""The CRDs of OpenShift's machine API take, refuse and show what those of OpenShift do (MHC A.1)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from kube.client import Client
from kube.errors import Invalid
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.support.api.columns import columns

pytestmark = pytest.mark.cluster

CHECKS = Resource(
    "machine.openshift.io/v1beta1", "MachineHealthCheck", "machinehealthchecks", namespaced=True
)
NAMESPACE, NAME = "default", "of-a-crd-test"
SINCE = "2026-01-02T03:04:05Z"


@pytest.fixture(scope="module")
async def transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield connected


def of(resource: Resource, **fields: Any) -> Object:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return kind | {"metadata": {"name": NAME}} | fields


async def taken(transport: Transport, resource: Resource, **fields: Any) -> Object:
    """The object as it would be stored; raises Invalid if it is refused."""
    path, query = resource.path(NAMESPACE), (("dryRun", "All"),)
    answer = await transport.request("POST", path, query=query, body=of(resource, **fields))
    stored: Object = json.loads(answer)
    return stored


async def spec_of(transport: Transport, **spec: Any) -> Object:
    """The spec of a MachineHealthCheck as it would be stored."""
    stored: Object = (await taken(transport, CHECKS, spec=spec))["spec"]
    return stored


def condition(**fields: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": "Unknown", "timeout": "5m"} | fields]


async def test_check_gets_its_defaults(transport: Transport) -> None:
    assert await spec_of(transport) == {"maxUnhealthy": "100%", "nodeStartupTimeout": "10m"}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"selector": {}}, id="an empty selector"),
        pytest.param({"selector": {"matchLabels": {"bad key": "a"}}}, id="a selector that does not parse"),
        pytest.param({"unhealthyConditions": condition(status="Maybe")}, id="a status of no condition"),
        pytest.param({"unhealthyConditions": condition(timeout="0s")}, id="no time"),
        pytest.param({"unhealthyConditions": condition(timeout="1.5h2µs")}, id="several units"),
        pytest.param({"unhealthyConditions": [{"type": "Ready", "status": "False"}]}, id="without a timeout"),
        pytest.param({"unhealthyConditions": [{}]}, id="an empty condition"),
        pytest.param({"maxUnhealthy": 3}, id="a number"),
        pytest.param({"maxUnhealthy": -1}, id="a negative number"),
        pytest.param({"maxUnhealthy": "5"}, id="digits"),
        pytest.param({"maxUnhealthy": "0%"}, id="0%"),
        pytest.param({"maxUnhealthy": "100%"}, id="100%"),
        pytest.param({"nodeStartupTimeout": "0"}, id="no startup timer"),
        pytest.param({"nodeStartupTimeout": "0 and whatever follows"}, id="what begins with 0"),
        pytest.param({"nodeStartupTimeout": "about 10m"}, id="what ends in a duration"),
        pytest.param({"remediationTemplate": {}}, id="an empty template reference"),
        pytest.param(
            {
                "remediationTemplate": {
                    "apiVersion": "a/v1",
                    "kind": "ATemplate",
                    "name": "a",
                    "namespace": "b",
                }
            },
            id="a template reference",
        ),
    ],
)
async def test_check_is_stored_as_it_was_written(transport: Transport, spec: dict[str, Any]) -> None:
    stored = await spec_of(transport, **spec)
    assert {field: stored[field] for field in spec} == spec


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"unhealthyConditions": []}, "unhealthyConditions", id="no conditions"),
        pytest.param({"unhealthyConditions": condition(type="")}, "type", id="a condition of no type"),
        pytest.param({"unhealthyConditions": condition(status="")}, "status", id="a condition of no status"),
        pytest.param({"unhealthyConditions": condition(timeout="0")}, "timeout", id="a timeout of no unit"),
        pytest.param({"unhealthyConditions": condition(timeout="")}, "timeout", id="an empty timeout"),
        pytest.param({"unhealthyConditions": condition(timeout="-5m")}, "timeout", id="a negative timeout"),
        pytest.param({"maxUnhealthy": "101%"}, "maxUnhealthy", id="more than all"),
        pytest.param({"maxUnhealthy": "1.5"}, "maxUnhealthy", id="a fraction"),
        pytest.param({"maxUnhealthy": "50 %"}, "maxUnhealthy", id="a space"),
        pytest.param({"maxUnhealthy": ""}, "maxUnhealthy", id="an empty threshold"),
        pytest.param({"maxUnhealthy": "-1"}, "maxUnhealthy", id="negative digits"),
        pytest.param({"nodeStartupTimeout": "10"}, "nodeStartupTimeout", id="a startup timer of no unit"),
        pytest.param({"nodeStartupTimeout": "5m later"}, "nodeStartupTimeout", id="what begins with 5m"),
    ],
)
async def test_check_is_refused_by_the_name_of_its_field(
    transport: Transport, spec: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid, match=rf"spec\.(\S+\.)?{field}"):
        await spec_of(transport, **spec)


@pytest.fixture
async def check(transport: Transport) -> AsyncIterator[Client]:
    """A client of a cluster with a check of this name."""
    client = Client(transport, "test")
    await client.create(
        CHECKS, of(CHECKS, spec={"maxUnhealthy": "40%"}, status={"currentHealthy": 9}), NAMESPACE
    )
    yield client
    await client.delete(CHECKS, NAME, NAMESPACE)


async def write_status(client: Client, **status: Any) -> Object:
    """The status as it is stored then."""
    answer = await client.merge_patch(CHECKS, NAME, {"status": status}, NAMESPACE, "status")
    stored: Object = answer["status"]
    return stored


async def test_status_of_a_check_is_written_apart_and_shown_by_its_columns(
    check: Client, transport: Transport
) -> None:
    assert "status" not in await check.get(CHECKS, NAME, NAMESPACE)
    numbers = {"expectedMachines": 5, "currentHealthy": 3, "remediationsAllowed": 0}
    assert await write_status(check, **numbers) == numbers
    assert await columns(transport, CHECKS, NAME, NAMESPACE) == {
        "Name": NAME,
        "MaxUnhealthy": "40%",
        "ExpectedMachines": 5,
        "CurrentHealthy": 3,
    }


async def test_conditions_of_a_check_have_a_severity_and_are_one_of_a_type(check: Client) -> None:
    said = {
        "type": "RemediationAllowed",
        "status": "False",
        "lastTransitionTime": SINCE,
        "severity": "Warning",
    }
    assert (await write_status(check, conditions=[said]))["conditions"] == [said]
    with pytest.raises(Invalid, match="Duplicate value"):
        await write_status(check, conditions=[said, said])


@pytest.mark.parametrize("field", ["expectedMachines", "currentHealthy", "remediationsAllowed"])
async def test_numbers_of_a_check_are_not_negative(check: Client, field: str) -> None:
    with pytest.raises(Invalid, match=f"status.{field}"):
        await write_status(check, **{field: -1})


async def test_machine_keeps_the_spec_for_its_provider(transport: Transport) -> None:
    hook = {"name": "Quorum", "owner": "clusteroperator/etcd"}
    spec = {
        "providerSpec": {"value": {"instanceType": "large", "disks": [{"size": 1}]}},
        "metadata": {"labels": {"node-role.kubernetes.io/infra": ""}},
        "lifecycleHooks": {"preDrain": [hook], "preTerminate": [hook]},
        "providerID": "simulated://x",
    }
    assert (await taken(transport, MACHINES, spec=spec))["spec"] == spec


async def test_status_of_a_machine_is_written_apart_and_shown_by_its_columns(transport: Transport) -> None:
    client = Client(transport, "test")
    status = {
        "phase": "Failed",
        "nodeRef": {"kind": "Node", "name": "node-7", "uid": "u"},
        "lastUpdated": SINCE,
        "errorReason": "InvalidConfiguration",
        "errorMessage": "There is no such size.",
        "conditions": [{"type": "Drained", "status": "False", "whatever": {"else": 1}}],
    }
    made = await client.create(MACHINES, of(MACHINES, status=status), NAMESPACE)
    try:
        assert "status" not in made
        stored = await client.merge_patch(MACHINES, NAME, {"status": status}, NAMESPACE, "status")
        shown = await columns(transport, MACHINES, NAME, NAMESPACE)
    finally:
        await client.delete(MACHINES, NAME, NAMESPACE)
    assert stored["status"] == status
    assert shown.keys() == {"Name", "Phase", "Node", "Age"}
    assert shown.items() >= {"Name": NAME, "Phase": "Failed", "Node": "node-7"}.items()


async def test_machine_set_keeps_its_template_and_is_scaled(transport: Transport) -> None:
    client = Client(transport, "test")
    template = {
        "metadata": {"labels": {"pool": "a"}, "annotations": {"b": "c"}},
        "spec": {"metadata": {"labels": {"d": "e"}}, "providerSpec": {"value": {"size": 1}}},
    }
    spec = {"selector": {"matchLabels": {"pool": "a"}}, "template": template}
    made = await client.create(MACHINE_SETS, of(MACHINE_SETS, spec=spec), NAMESPACE)
    try:
        await client.merge_patch(MACHINE_SETS, NAME, {"spec": {"replicas": 0}}, NAMESPACE, "scale")
        after = await client.get(MACHINE_SETS, NAME, NAMESPACE)
    finally:
        await client.delete(MACHINE_SETS, NAME, NAMESPACE)
    assert made["spec"] == spec | {"replicas": 1}
    assert after["spec"] == spec | {"replicas": 0}
