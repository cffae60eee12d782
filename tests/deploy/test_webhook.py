"""The webhook as an installation has it: its component, a real API server, and a detector that stands by."""

import asyncio
import copy
import uuid
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
import yaml

from devcluster.control_plane import ControlPlane
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS
from devcluster.temporal import TemporalServer
from kube.client import Client
from kube.errors import Forbidden, NotFound
from kube.resource import LEASES, Object, Resource
from kube.transport import Transport
from tests.deploy.applying import CONFIGURATIONS, api_server
from tests.deploy.overlays import named, overlay
from tests.deploy.test_drop_in import STATUS_OF_THE_REFERENCE
from tests.support.api.ports import free_port
from tests.support.api.tls import write_pair
from tests.support.cluster.processes import our_process
from tests.support.story.world import TEMPLATES
from tests.support.values.builders import check_object

pytestmark = [pytest.mark.cluster, pytest.mark.rule("NHC 1.1/webhook/endpoint")]

FOLDER = ROOT / "deploy" / "components" / "webhook"
CONFIGURATION = yaml.load((FOLDER / "configuration.yaml").read_text(), yaml.CSafeLoader)
PATH = CONFIGURATION["webhooks"][0]["clientConfig"]["service"]["path"]
INFRASTRUCTURES = Resource("config.openshift.io/v1", "Infrastructure", "infrastructures", namespaced=False)
PREFIX = "reviewed-"
ANNOTATION = "remediation.medik8s.io/multiple-templates-support"
DENIED = 'admission webhook "vnodehealthcheck.kb.io" denied the request: '
PROHIBITED = "prohibited due to running remediation"
DUPLICATE = (
    "Using multiple templates of same kind is not supported for this template: "
    f"duplicate template kind: {TEMPLATES.kind}"
)
REMEDIATING = {"status": STATUS_OF_THE_REFERENCE}
PATIENCE = timedelta(seconds=60)


@pytest.fixture(scope="module")
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with await Transport.connect(str(control_plane.kubeconfig)) as connected:
        yield Client(connected)


@pytest.fixture(scope="module")
async def other_leader(client: Client) -> AsyncIterator[None]:
    """Somebody else leads, so no status of a test is corrected by the detector under test."""
    await gone(client.delete(LEASES, "paramedic-detector", "paramedic-system"))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": now, "acquireTime": now}
    lease = {"metadata": {"name": "paramedic-detector"}, "spec": spec}
    await client.create(LEASES, lease, "paramedic-system")
    yield
    await client.delete(LEASES, "paramedic-detector", "paramedic-system")


@pytest.fixture(scope="module")
async def webhook(
    control_plane: ControlPlane,
    temporal_server: TemporalServer,
    client: Client,
    other_leader: None,  # noqa: ARG001  it leads before the detector starts
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[str]:
    """The address of a standby detector that the API server asks about the checks of this file."""
    directory, port = tmp_path_factory.mktemp("webhook"), free_port()
    detector = our_process(
        "detector", f"c{uuid.uuid4().hex[:6]}", control_plane, temporal_server, directory, alias="standby"
    )
    detector.environment["PARAMEDIC_WEBHOOK_ADDRESS"] = f"127.0.0.1:{port}"
    detector.environment["PARAMEDIC_WEBHOOK_CERTIFICATE_DIRECTORY"] = str(directory)
    certificate = write_pair(directory)
    async with api_server(control_plane.kubeconfig) as asked:
        for document in yaml.safe_load_all((FOLDER / "rbac.yaml").read_text()):
            assert await asked.apply(document) == ""
    try:
        await detector.start()
        await until(lambda: listens(port), within=PATIENCE, otherwise="the webhook never listens")
        await client.create(CONFIGURATIONS, on_loopback(port, certificate))
        await until(lambda: is_asked(client), within=PATIENCE, otherwise="the webhook is never asked")
        yield f"https://127.0.0.1:{port}{PATH}"
    finally:
        await gone(client.delete(CONFIGURATIONS, CONFIGURATION["metadata"]["name"]))
        await detector.stop()


def on_loopback(port: int, certificate: str) -> Object:
    """The configuration of deploy/, for a detector outside the cluster, and the checks of this file alone."""
    configuration: Object = copy.deepcopy(CONFIGURATION)
    (webhook,) = configuration["webhooks"]
    authority = b64encode(certificate.encode()).decode()
    webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{PATH}", "caBundle": authority}
    named = f"(object == null ? oldObject : object).metadata.name.startsWith('{PREFIX}')"
    webhook["matchConditions"] = [{"name": "of-this-file", "expression": named}]
    return configuration


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


async def is_asked(client: Client) -> bool:
    name = f"{PREFIX}{uuid.uuid4().hex[:8]}"
    refused = await refusal(client.create(NODE_HEALTH_CHECKS, check(name, **twice())))
    if not refused:  # the API server does not know of it yet
        await client.delete(NODE_HEALTH_CHECKS, name)
    return bool(refused)


async def refusal(call: Awaitable[object]) -> str:
    """The webhook's refusal of a call; "" if it allows the call."""
    try:
        await call
    except Forbidden as error:
        return error.message.rpartition(DENIED)[2]
    return ""


async def gone(call: Awaitable[object]) -> None:
    try:
        await call
    except NotFound:
        return


def check(name: str, **spec: Any) -> Object:
    return check_object(**spec) | {"metadata": {"name": name}}


def twice(kind: str = TEMPLATES.kind) -> dict[str, Any]:
    names = ("one", "two")
    references = [{"apiVersion": TEMPLATES.api_version, "kind": kind, "name": name} for name in names]
    return {
        "remediationTemplate": None,
        "escalatingRemediations": [
            {"remediationTemplate": reference, "order": order, "timeout": "60s"}
            for order, reference in enumerate(references)
        ],
    }


@pytest.fixture
async def name(client: Client) -> AsyncIterator[str]:
    """A name of a check that is removed in the end, whatever its status."""
    given = f"{PREFIX}{uuid.uuid4().hex[:8]}"
    yield given
    try:
        await client.merge_patch(NODE_HEALTH_CHECKS, given, {"status": None}, subresource="status")
        await client.delete(NODE_HEALTH_CHECKS, given)
    except NotFound:
        return


@pytest.fixture
async def templates(client: Client) -> AsyncIterator[list[str]]:
    """Two templates of the kind of `twice`."""
    names = [f"several-{number}" for number in range(2)]
    for name in names:
        body = {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "metadata": {"name": name}}
        await client.create(TEMPLATES, body | {"spec": {"template": {"spec": {}}}}, "default")
    yield names
    for name in names:
        await client.delete(TEMPLATES, name, "default")


@pytest.fixture
async def infrastructure(client: Client) -> AsyncIterator[None]:
    """A cluster of OpenShift, whose control plane has a topology that is not supported."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Infrastructure", "plural": "infrastructures"}
    group = "config.openshift.io"
    crd = {
        "metadata": {"name": f"infrastructures.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }
    await client.create(DEFINITIONS, crd)
    body = {
        "apiVersion": INFRASTRUCTURES.api_version,
        "kind": INFRASTRUCTURES.kind,
        "metadata": {"name": "cluster"},
        "status": {"controlPlaneTopology": "DualReplica"},
    }

    async def is_stored() -> bool:
        try:
            await client.create(INFRASTRUCTURES, body)
        except NotFound:
            return False
        return True

    try:
        await until(is_stored, within=PATIENCE, otherwise="Infrastructure is never served")
        yield
    finally:
        await client.delete(DEFINITIONS, f"infrastructures.{group}")


@pytest.mark.usefixtures("webhook")
@pytest.mark.rule("NHC 1.1/webhook/same kind")
async def test_steps_of_one_kind_are_taken_when_all_of_its_templates_support_it(
    client: Client, name: str, templates: list[str]
) -> None:
    annotate = {"metadata": {"annotations": {ANNOTATION: ""}}}
    wanted = check(name, **twice())

    assert await refusal(client.create(NODE_HEALTH_CHECKS, wanted)) == DUPLICATE
    await client.merge_patch(TEMPLATES, templates[0], annotate, "default")
    assert await refusal(client.create(NODE_HEALTH_CHECKS, wanted)) == DUPLICATE
    await client.merge_patch(TEMPLATES, templates[1], annotate, "default")
    assert await refusal(client.create(NODE_HEALTH_CHECKS, wanted)) == ""


@pytest.mark.usefixtures("webhook")
@pytest.mark.rule("NHC 1.1/webhook/same kind")
@pytest.mark.parametrize("kind", [TEMPLATES.kind, "NobodyServesThisTemplate"])
async def test_steps_of_one_kind_are_refused_when_there_is_no_template_of_it(
    client: Client, name: str, kind: str
) -> None:
    refused = await refusal(client.create(NODE_HEALTH_CHECKS, check(name, **twice(kind))))

    assert refused == DUPLICATE.replace(TEMPLATES.kind, kind)


@pytest.mark.usefixtures("webhook")
@pytest.mark.rule("NHC 1.1/webhook/edit during remediation", "NHC 1.1/webhook/delete during remediation")
async def test_check_is_guarded_while_a_request_of_it_exists(client: Client, name: str) -> None:
    await client.create(NODE_HEALTH_CHECKS, check(name))
    await client.merge_patch(NODE_HEALTH_CHECKS, name, REMEDIATING, subresource="status")

    async def edit(**spec: Any) -> str:
        return await refusal(client.merge_patch(NODE_HEALTH_CHECKS, name, {"spec": spec}))

    assert await edit(selector={"matchLabels": {"a": "b"}}) == f"selector update {PROHIBITED}"
    assert await edit(remediationTemplate={"name": "b"}) == f"remediation template update {PROHIBITED}"
    assert await edit(**twice() | {"escalatingRemediations": twice()["escalatingRemediations"][:1]}) == (
        f"[remediation template update {PROHIBITED}, escalating remediations update {PROHIBITED}]"
    )
    assert await edit(minHealthy=3, pauseRequests=["update"], unhealthyConditions=[]) == ""
    assert await refusal(client.delete(NODE_HEALTH_CHECKS, name)) == f"deletion {PROHIBITED}"

    only_unhealthy = {"status": {"unhealthyNodes": [{"name": "node-1"}]}}
    await client.merge_patch(NODE_HEALTH_CHECKS, name, only_unhealthy, subresource="status")
    assert await edit(selector={"matchLabels": {"a": "b"}}) == ""
    assert await refusal(client.delete(NODE_HEALTH_CHECKS, name)) == ""


@pytest.mark.usefixtures("webhook")
async def test_status_is_not_asked_about(client: Client, name: str) -> None:
    await client.create(NODE_HEALTH_CHECKS, check(name))
    await client.merge_patch(NODE_HEALTH_CHECKS, name, REMEDIATING, subresource="status")
    await client.merge_patch(NODE_HEALTH_CHECKS, name, {"status": None}, subresource="status")


@pytest.mark.usefixtures("webhook", "infrastructure")
@pytest.mark.rule("NHC 1.1/webhook/topology")
async def test_check_is_refused_on_an_openshift_cluster_of_another_topology(
    client: Client, name: str
) -> None:
    refused = await refusal(client.create(NODE_HEALTH_CHECKS, check(name)))

    assert refused == "Unsupported control plane topology"


async def test_body_that_is_no_review_is_answered_with_an_error(webhook: str) -> None:
    async with aiohttp.ClientSession() as session, session.post(webhook, json={}, ssl=False) as answer:
        assert answer.status == 400
        assert "No AdmissionReview of v1" in await answer.text()


def test_webhook_is_a_component_of_kustomize() -> None:
    found = named(overlay("webhook"), CONFIGURATIONS.kind, CONFIGURATION["metadata"]["name"])
    (webhook,) = found["webhooks"]
    assert (webhook["name"], webhook["failurePolicy"], webhook["sideEffects"]) == (
        "vnodehealthcheck.kb.io",
        "Fail",
        "None",
    )
