"""Objects that the NodeHealthCheck operator and its users stored stay valid under our CRD."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.model.invalid_check import InvalidCheckError
from kube.client import Client
from kube.errors import Invalid, NotFound
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.deploy.nodehealthcheck_specs import DELETION, READY
from tests.support.cluster.kubectl import kubectl
from tests.support.values.builders import TEMPLATE, check_object, escalation

pytestmark = pytest.mark.cluster

CRD = ROOT / "deploy" / "base" / "crds" / "remediation.medik8s.io_nodehealthchecks.yaml"
GROUP = "stored-earlier.example.com"
STORED_EARLIER = Resource(f"{GROUP}/v1alpha1", "NodeHealthCheck", "nodehealthchecks", namespaced=False)
RULES = {"x-kubernetes-validations", "pattern", "required", "enum", "minLength", "maxLength", "maxItems"}
REFERENCE = TEMPLATE | {"uid": "a-uid", "resourceVersion": "12", "fieldPath": "spec.template"}
STATUS_OF_THE_REFERENCE = {
    "observedNodes": 3,
    "healthyNodes": 1,
    "inFlightRemediations": {"node-0": "2026-03-01T11:00:00Z"},
    "unhealthyNodes": [
        {
            "name": "node-1",
            "remediations": [
                {
                    "resource": {
                        "apiVersion": "example.com/v1",
                        "kind": "Reboot",
                        "namespace": "remediators",
                        "name": "node-1-x7k2p",
                        "uid": "request-uid",
                    },
                    "started": "2026-03-01T11:30:00Z",
                    "timedOut": "2026-03-01T11:45:00Z",
                    "templateName": "reboot",
                }
            ],
            "conditionsHealthyTimestamp": "2026-03-01T11:50:00Z",
            "healthyDelayed": True,
        },
        {"name": "node-2"},
    ],
    "conditions": [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": "",
            "lastTransitionTime": "2026-03-01T11:00:00Z",
        }
        for type_, status, reason in (
            ("Disabled", "False", "NodeHealthCheckEnabled"),
            ("StormActive", "True", "HealthyNodeThresholdChange"),
            ("StormCooldownActive", "Unknown", "HealthyNodeThresholdChange"),
        )
    ],
    "phase": "Remediating",
    "reason": "NHC is remediating 2 nodes",
    "lastUpdateTime": "2026-03-01T11:50:01Z",
}


@pytest.fixture(scope="module")
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield Client(connected)


@pytest.fixture
async def check_name(client: Client) -> AsyncIterator[str]:
    yield "drop-in"
    try:
        await client.delete(NODE_HEALTH_CHECKS, "drop-in")
    except NotFound:
        return


@pytest.mark.rule("NHC 1/kind", "rule 39/back")
async def test_everything_that_the_operator_wrote_is_stored_and_given_back(
    client: Client, check_name: str
) -> None:
    spec = {
        "unhealthyConditions": [],
        "minHealthy": None,
        "maxUnhealthy": "3",
        "remediationTemplate": None,
        "escalatingRemediations": [
            escalation(7, "90s", kind="Metal3RemediationTemplate"),
            escalation(-1) | {"remediationTemplate": REFERENCE},
        ],
        "stormCooldownDuration": "1h30m",
        "pauseRequests": ["", "update"],
        "healthyDelay": "-1s",
    }
    raw = check_object(**spec) | {"metadata": {"name": check_name}}
    await client.create(NODE_HEALTH_CHECKS, raw)
    patch = {"status": STATUS_OF_THE_REFERENCE}
    await client.merge_patch(NODE_HEALTH_CHECKS, check_name, patch, subresource="status")

    stored = await client.get(NODE_HEALTH_CHECKS, check_name)

    assert stored["spec"] == raw["spec"]
    assert stored["status"] == STATUS_OF_THE_REFERENCE
    assert "finalizers" not in stored["metadata"]


async def test_check_of_the_operator_is_applied_again_without_a_change(
    control_plane: ControlPlane, client: Client, check_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "check.json"
    file.write_text(json.dumps(check_object() | {"metadata": {"name": check_name}}))

    applied = [await kubectl(control_plane.kubeconfig, "apply", "-f", str(file)) for _ in range(2)]
    by_server = await kubectl(
        control_plane.kubeconfig, "apply", "--server-side", "--force-conflicts", "-f", str(file)
    )

    named = f"nodehealthcheck.remediation.medik8s.io/{check_name}"
    assert applied == [(0, f"{named} created"), (0, f"{named} unchanged")]
    assert by_server == (0, f"{named} serverside-applied")
    assert (await client.get(NODE_HEALTH_CHECKS, check_name))["metadata"]["generation"] == 1


STORED_SPECS: dict[str, dict[str, Any] | None] = {
    "no-spec": None,
    "empty-spec": {},
    "both-thresholds": {"maxUnhealthy": 1},
    "no-threshold": {"minHealthy": None},
    "negative-threshold": {"minHealthy": -3},
    "large-threshold": {"minHealthy": 2**31},
    "more-than-all": {"minHealthy": "101%"},
    "empty-selector": {"selector": {}},
    "bad-label-value": {"selector": {"matchLabels": {"a": "b c"}}},
    "bad-label-key": {"selector": {"matchLabels": {"a b": "c"}}},
    "bad-operator": {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
    "no-template": {"remediationTemplate": None},
    "both-templates": {"escalatingRemediations": [escalation(1)]},
    "deletes-machines": {"minHealthy": None, "maxUnhealthy": 1, "remediationTemplate": DELETION},
    "template-without-a-name": {"remediationTemplate": {"apiVersion": "example.com/v1", "kind": "ATemplate"}},
    "template-of-nothing": {"remediationTemplate": TEMPLATE | {"kind": "Template"}},
    "template-of-a-bad-version": {"remediationTemplate": TEMPLATE | {"apiVersion": "a/b/c"}},
    "order-twice": {
        "remediationTemplate": None,
        "escalatingRemediations": [escalation(1), escalation(1)],
    },
    "short-timeout": {"remediationTemplate": None, "escalatingRemediations": [escalation(1, "59s")]},
    "long-timeout": {
        "remediationTemplate": None,
        "escalatingRemediations": [escalation(1, f"99999999999{unit}") for unit in ("h", "m", "s")],
    },
    "template-without-a-kind": {
        "minHealthy": None,
        "maxUnhealthy": 1,
        "remediationTemplate": {"apiVersion": "example.com/v1", "name": "a"},
    },
    "step-without-a-kind": {
        "minHealthy": None,
        "maxUnhealthy": 1,
        "remediationTemplate": None,
        "escalatingRemediations": [escalation(1) | {"remediationTemplate": {}}],
    },
    "overflow": {"unhealthyConditions": [READY | {"duration": "99999999999h"}]},
    "no-duration": {"healthyDelay": "soon"},
}


def definition(*, loose: bool) -> Object:
    """Our CRD under another group; loose, as one that knows no rules for spec."""
    crd: Object = yaml.safe_load(CRD.read_text())
    crd["metadata"]["name"] = f"nodehealthchecks.{GROUP}"
    crd["spec"]["group"] = GROUP
    if loose:
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        del schema["x-kubernetes-validations"]
        schema["properties"]["spec"] = without_rules(schema["properties"]["spec"])
    return crd


def without_rules(schema: Any) -> Any:
    """The same fields, of the same types, and nothing refused but what makes no list map."""
    if isinstance(schema, list):
        return [without_rules(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = RULES - {"required"} if "x-kubernetes-list-type" in schema else RULES
    kept = {key: without_rules(value) for key, value in schema.items() if key not in dropped}
    if schema.get("x-kubernetes-list-type") == "map":
        kept["items"]["required"] = schema["items"]["required"]
    return kept


@pytest.fixture
async def loose_crd(client: Client) -> AsyncIterator[None]:
    crd = definition(loose=True)
    await client.create(DEFINITIONS, crd)
    try:
        yield
    finally:
        await client.delete(DEFINITIONS, crd["metadata"]["name"])


def stored_earlier(name: str, spec: dict[str, Any] | None) -> Object:
    raw = check_object(**spec or {}) | {"apiVersion": STORED_EARLIER.api_version, "metadata": {"name": name}}
    if not spec:
        del raw["spec"]
    return raw if spec is None else {"spec": {}, **raw}


async def create_when_served(client: Client, raw: Object) -> None:
    async def is_stored() -> bool:
        try:
            await client.create(STORED_EARLIER, raw)
        except NotFound:
            return False
        return True

    await until(is_stored, within=timedelta(seconds=60), otherwise="the loose CRD is never served")


async def make_strict(client: Client) -> None:
    strict = definition(loose=False)
    patch = {"spec": strict["spec"]}
    await client.merge_patch(DEFINITIONS, strict["metadata"]["name"], patch)
    names = iter(range(10**6))

    async def refuses() -> bool:
        try:
            await client.create(STORED_EARLIER, stored_earlier(f"probe-{next(names)}", {"selector": {}}))
        except Invalid:
            return True
        return False

    await until(refuses, within=timedelta(seconds=60), otherwise="the strict CRD is never served")


@pytest.mark.usefixtures("loose_crd")
@pytest.mark.rule("rule 8")
async def test_check_that_was_stored_before_the_rules_still_takes_status_and_labels(client: Client) -> None:
    for name, spec in STORED_SPECS.items():
        await create_when_served(client, stored_earlier(name, spec))
    await make_strict(client)

    patches = [
        client.merge_patch(STORED_EARLIER, name, {"status": {"phase": "Disabled"}}, subresource="status")
        for name in STORED_SPECS
    ]
    assert {written["status"]["phase"] for written in await asyncio.gather(*patches)} == {"Disabled"}
    labels = {"metadata": {"labels": {"a": "b"}}}
    for name in STORED_SPECS:
        await client.merge_patch(STORED_EARLIER, name, labels)


@pytest.mark.rule("rule 8")
@pytest.mark.parametrize(("name", "spec"), STORED_SPECS.items(), ids=STORED_SPECS)
def test_check_that_was_stored_before_the_rules_is_flagged_with_its_field(
    name: str, spec: dict[str, Any] | None
) -> None:
    stored = stored_earlier(name, spec) | {"metadata": check_object()["metadata"]}
    with pytest.raises(InvalidCheckError) as flagged:
        NodeHealthCheck.parse(stored)
    assert flagged.value.problem.field.startswith("spec")
