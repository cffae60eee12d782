"""Steps and evidence without an incident: `act` refuses them when a foreign workflow asks (rule 52)."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.check.same_boot import SAME_BOOT
from health.evidence import Retention
from health.model.evidence import LABEL, evidence_name
from health.model.observation import HoldReason
from health.model.references import RequestReference
from health.model.remediation_request import BOOT_ID, NODE_NAME
from health.model.verdict import Fact
from kube.resource import CONFIG_MAPS, NODES, Object, Resource
from tests.activities.evidence import evidence_asked
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import NAMESPACE, REQUESTS, SINCE, TEMPLATES, World
from workflows.contracts import ActInput

pytestmark = [pytest.mark.cluster, pytest.mark.rule("rule 52")]

NODE_INFO = (
    "architecture",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)


async def test_act_takes_no_step_that_the_check_does_not_name(
    world: World, admin_worker: WorkerActivities
) -> None:
    """Otherwise each template could be used, also one that is meant for another check."""
    name = f"{world.name}-other"
    body = await world.client.get(TEMPLATES, world.name, NAMESPACE)
    await world.client.create(TEMPLATES, body | {"metadata": {"name": name}}, NAMESPACE)
    order = world.order()
    template = order.step.template.model_copy(update={"name": name})
    forged = order.step.model_copy(update={"template": template})
    held = (await admin_worker.act(order.model_copy(update={"step": forged}))).hold
    await world.client.delete(TEMPLATES, name, NAMESPACE)
    assert held is not None
    assert held.reason is HoldReason.NOT_TRUE
    assert f"no longer says: create PowerCycleRemediation from template {NAMESPACE}/{name}" in held.message
    assert await world.request() is None
    assert await world.lease() is None


async def test_act_makes_no_object_of_a_built_in_kind_though_the_check_names_it(
    world: World, admin_worker: WorkerActivities
) -> None:
    deployments = Resource("apps/v1", "Deployment", "deployments", namespaced=True)
    labels = {"tests": world.name}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pods}
    metadata = {"name": f"{world.name}-template"}
    body: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    await world.client.create(deployments, body, NAMESPACE)
    order = await world.order_with_template("apps/v1", "Deployment", metadata["name"])
    held = (await admin_worker.act(order)).hold
    assert held is not None
    assert "Deployment.apps is a kind of Kubernetes itself" in held.message
    await world.client.delete(deployments, metadata["name"], NAMESPACE)
    assert await world.lease() is None


async def test_act_makes_no_object_from_a_template_of_its_own_kind(
    world: World, admin_worker: WorkerActivities
) -> None:
    name = f"{world.name}-template"
    body: Object = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": {"name": name}}
    body["spec"] = {"template": {"spec": {}}}
    await world.client.create(REQUESTS, body, NAMESPACE)
    held = (
        await admin_worker.act(await world.order_with_template(REQUESTS.api_version, REQUESTS.kind, name))
    ).hold
    await world.client.delete(REQUESTS, name, NAMESPACE)
    assert held is not None
    assert f"the name of the kind {REQUESTS.kind} does not end in Template" in held.message
    assert await world.lease() is None


class Booted(NamedTuple):
    """A healthy node whose check requires proof of recovery."""

    world: World
    order: ActInput


@pytest.fixture
async def booted(world: World) -> Booted:
    chosen: Object = {"metadata": {"annotations": {"paramedic.dev/proven-recovery": "5m"}}}
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, chosen)
    status = {"status": {"nodeInfo": {**dict.fromkeys(NODE_INFO, ""), "bootID": "boot-2"}}}
    await world.client.merge_patch(NODES, world.name, status, subresource="status")
    await world.set_condition("True")
    fact = Fact(condition=SAME_BOOT, status="boot-2", since=SINCE)
    return Booted(world, world.order(fact=fact))


async def _is_remediated(booted: Booted, worker: WorkerActivities, *requests: RequestReference) -> bool:
    before = len(await booted.world.client.list(REQUESTS, NAMESPACE))
    result = await worker.act(booted.order.model_copy(update={"requests": requests}))
    if result.request is None:
        assert result.hold is not None
        assert result.hold.reason is HoldReason.NOT_TRUE
        assert "was remediated in this boot" in result.hold.message
        assert len(await booted.world.client.list(REQUESTS, NAMESPACE)) == before
    return result.request is not None


@pytest.mark.rule("rule 52/healthy")
async def test_healthy_node_is_not_remediated_for_its_boot_alone(
    booted: Booted, admin_worker: WorkerActivities
) -> None:
    """The boot ID is no secret: everyone with read access to Nodes knows it."""
    assert not await _is_remediated(booted, admin_worker)
    theirs = await booted.world.make_request(
        of_another=True, name=f"{booted.world.name}-1", annotations={BOOT_ID: "boot-2"}
    )
    assert not await _is_remediated(booted, admin_worker, theirs)


@pytest.mark.rule("rule 52/healthy")
async def test_healthy_node_that_booted_since_its_request_was_made_is_not_remediated(
    booted: Booted, admin_worker: WorkerActivities
) -> None:
    signs = {NODE_NAME: booted.world.name, BOOT_ID: "boot-1"}
    ours = await booted.world.make_request(name=f"{booted.world.name}-1", annotations=signs)
    assert not await _is_remediated(booted, admin_worker, ours)


async def test_healthy_node_that_did_not_boot_since_its_request_was_made_is_remediated(
    booted: Booted, admin_worker: WorkerActivities
) -> None:
    signs = {NODE_NAME: booted.world.name, BOOT_ID: "boot-2"}
    ours = await booted.world.make_request(name=f"{booted.world.name}-1", annotations=signs)
    assert await _is_remediated(booted, admin_worker, ours)


async def test_healthy_node_whose_request_a_user_deleted_is_remediated_while_the_check_holds_its_lease(
    booted: Booted, admin_worker: WorkerActivities
) -> None:
    await booted.world.make_lease(booted.world.holder, datetime.now(UTC))
    assert await _is_remediated(booted, admin_worker)


@pytest.mark.rule("rule 52/healthy")
async def test_healthy_machine_is_held_while_the_check_of_the_request_for_it_cannot_be_read(
    machine_world: MachineWorld, admin_worker: WorkerActivities
) -> None:
    await machine_world.use_template()
    of_operator = await machine_world.make_machine_request()
    await machine_world.annotate_check({"paramedic.dev/max-in-flight": "many"})
    fact = Fact(condition=SAME_BOOT, status="boot-2", since=SINCE)
    await admin_worker.held(
        machine_world.order(fact=fact, requests=(of_operator,)),
        HoldReason.NOT_TRUE,
        "was remediated in this boot",
    )


async def test_no_evidence_is_saved_that_the_check_does_not_want(
    world: World, admin_worker: WorkerActivities
) -> None:
    await world.client.merge_patch(
        NODE_HEALTH_CHECKS, world.name, {"metadata": {"annotations": {LABEL: None}}}
    )
    answer = await admin_worker.save_evidence(evidence_asked(world.order()))
    assert answer.record is None
    assert answer.hold is not None
    assert answer.hold.reason is HoldReason.NOT_TRUE


@pytest.mark.parametrize("labels", [{LABEL: "true"}, {}], ids=["with-our-label", "without"])
async def test_foreign_config_map_is_not_pruned_nor_taken_for_evidence(
    world: World, admin_worker: WorkerActivities, labels: dict[str, str]
) -> None:
    asked = evidence_asked(world.order())
    name = world.name if labels else evidence_name(asked.incident, asked.first_run_id)
    metadata = {"name": name, "labels": labels}
    body: Object = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": metadata}
    theirs = await world.client.create(CONFIG_MAPS, body, POLICY_NAMESPACE)
    none_kept = admin_worker.config_maps(retention=Retention(1, timedelta()))
    record = (await admin_worker.save_evidence(asked, none_kept)).record
    assert record is not None
    assert record.is_saved == bool(labels)
    assert await world.client.get(CONFIG_MAPS, name, POLICY_NAMESPACE) == theirs
    await world.client.delete(CONFIG_MAPS, name, POLICY_NAMESPACE)
    for config_map in await world.client.list(CONFIG_MAPS, POLICY_NAMESPACE, LABEL):
        await world.client.delete(CONFIG_MAPS, config_map["metadata"]["name"], POLICY_NAMESPACE)
