"""save_evidence on a real API server: its content, once, its bounds, and that its failures stop no step."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta

import pytest
import yaml

from activities.save_evidence import EvidenceConfigMaps, Filing, label
from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS
from health.evidence import EvidenceDocument, Retention
from health.model.evidence import LABEL, PREFIX, EvidenceRecord
from health.model.observation import HoldReason
from health.policy.policy_in_force import SHADOW
from kube.client import Client
from kube.errors import NotFound
from kube.resource import CONFIG_MAPS, EVENTS, PODS, Object
from kube.transport import Transport
from tests.activities.evidence import MADE, SECRET, evidence_asked, make_event, make_pod
from tests.activities.machine_world import MachineWorld
from tests.activities.worker_activities import LABELS, PLENTY, POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import World
from workflows.contracts import EVIDENCE_LONGEST

DAY = timedelta(days=1)


pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("swept")]


@pytest.fixture
async def swept(control_plane: ControlPlane) -> AsyncIterator[None]:
    """Evidence of these tests is removed after the test."""
    yield
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        client = Client(transport, "tests")
        for resource, namespace, label in (
            (CONFIG_MAPS, POLICY_NAMESPACE, LABEL),
            (PODS, "default", MADE),
            (EVENTS, "default", MADE),
        ):
            for one in await client.list(resource, namespace, label):
                with suppress(NotFound):
                    await client.delete(resource, one["metadata"]["name"], namespace)


async def config_map(world: World, record: EvidenceRecord | None) -> Object:
    assert record is not None
    assert record.is_saved, record
    return await world.client.get(CONFIG_MAPS, record.name, record.namespace)


async def test_node_with_its_events_and_pods_is_saved_once(world: World, worker: WorkerActivities) -> None:
    for name, node in (("on-it", world.name), ("elsewhere", "another-node")):
        await make_pod(world.client, f"{world.name}-{name}", node)
        await make_event(world.client, f"{world.name}-{name}", {"kind": "Node", "name": node}, f"of {name}")
    await world.patch_node(annotations={"example.com/args": SECRET})

    saved = await worker.save_evidence(evidence_asked(world.order()))

    found = await config_map(world, saved.record)
    assert found["metadata"]["namespace"] == POLICY_NAMESPACE
    assert found["metadata"]["name"].startswith(f"{PREFIX}{world.name}-")
    assert found["immutable"]
    assert found["metadata"]["labels"] == LABELS | {
        LABEL: "true",
        "paramedic.dev/check": f"NodeHealthCheck_{world.name}",
        "paramedic.dev/target": f"Node_{world.name}",
        "paramedic.dev/incident": label(world.incident.workflow_id),
    }
    assert found["metadata"]["annotations"]["paramedic.dev/workflow-id"] == world.incident.workflow_id
    assert SECRET not in str(found["data"])
    assert list(found["data"]) == ["events-of-node.yaml", "incident.yaml", "node.yaml", "pods.yaml"]
    read = {name: yaml.safe_load(body) for name, body in found["data"].items()}
    assert read["incident.yaml"]["workflow"] == world.incident.workflow_id
    assert read["incident.yaml"]["nextStep"].startswith("create PowerCycleRemediation from template")
    assert "lacks" not in read["incident.yaml"]
    assert read["node.yaml"]["status"]["conditions"][0]["type"] == "Ready"
    assert [pod["pod"] for pod in read["pods.yaml"]] == [f"default/{world.name}-on-it"]
    assert [event["message"] for event in read["events-of-node.yaml"]] == ["of on-it"]

    again = await worker.save_evidence(evidence_asked(world.order()))
    assert (await config_map(world, again.record))["metadata"]["uid"] == found["metadata"]["uid"]


async def test_machine_is_saved_beside_its_node(
    machine_world: MachineWorld, worker: WorkerActivities
) -> None:
    about = {"kind": "Machine", "name": machine_world.name, "uid": machine_world.machine_uid}
    await make_event(machine_world.client, f"{machine_world.name}-1", about | {"namespace": "default"}, "m")

    saved = await worker.save_evidence(evidence_asked(machine_world.order()))

    found = (await config_map(machine_world, saved.record))["data"]
    read = {name: yaml.safe_load(body) for name, body in found.items()}
    assert read["machine.yaml"]["metadata"]["uid"] == machine_world.machine_uid
    assert read["machine.yaml"]["status"]["phase"] == "Running"
    assert [event["message"] for event in read["events-of-machine.yaml"]] == ["m"]
    assert read["node.yaml"]["metadata"]["name"] == machine_world.name


async def test_excess_evidence_is_deleted_after_the_next_save(world: World, worker: WorkerActivities) -> None:
    kept = worker.config_maps(retention=Retention(2, DAY))
    for run in ("run-1", "run-2", "run-3"):
        saved = await worker.save_evidence(evidence_asked(world.order(), first_run_id=run), kept)
        await config_map(world, saved.record)

    assert len(await world.client.list(CONFIG_MAPS, POLICY_NAMESPACE, LABEL)) == 2


async def test_step_that_may_not_be_taken_is_held_and_nothing_is_saved(
    world: World, worker: WorkerActivities
) -> None:
    await world.set_condition("True")

    answer = await worker.save_evidence(evidence_asked(world.order()))

    assert answer.record is None
    assert answer.hold is not None
    assert answer.hold.reason is HoldReason.NOT_TRUE
    assert await world.client.list(CONFIG_MAPS, POLICY_NAMESPACE, LABEL) == []


async def test_evidence_of_a_check_in_shadow_is_saved_and_what_would_hold_its_step_is_the_reason_why_not(
    world: World, worker: WorkerActivities
) -> None:
    await world.client.merge_patch(
        NODE_HEALTH_CHECKS, world.name, {"metadata": {"annotations": {SHADOW: "true"}}}
    )
    asked = evidence_asked(world.order(), is_shadow=True)

    found = await config_map(world, (await worker.save_evidence(asked)).record)
    assert "recorded, and not taken" in found["data"]["incident.yaml"]
    assert (await worker.save_evidence(asked.model_copy(update={"is_shadow": False}))).hold is not None
    await world.set_condition("True")
    answer = await worker.save_evidence(asked)
    assert answer.hold is None
    assert answer.record is not None
    assert str(answer.record.problem).startswith("NotTrue: no longer true of")


async def test_worker_without_the_right_says_so(world: World, worker: WorkerActivities) -> None:
    elsewhere = worker.config_maps("default")
    answer = await worker.save_evidence(evidence_asked(world.order()), elsewhere)
    assert answer.record is not None
    assert "configmaps is forbidden" in str(answer.record.problem)
    assert str(answer.record).startswith("evidence: not saved: ")


async def test_api_server_that_is_away_is_a_reason_and_no_hold(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    answer = await worker_in_the_dark.save_evidence(evidence_asked(world.order()))
    assert answer.hold is None
    assert answer.record is not None
    assert "got no complete answer" in str(answer.record.problem)


class Hanging(EvidenceConfigMaps):
    """ConfigMaps of an API server that does not answer."""

    async def save(self, filing: Filing, document: EvidenceDocument) -> None:  # noqa: ARG002  as there
        await asyncio.Event().wait()


async def test_api_server_that_hangs_is_a_reason_in_time(world: World, worker: WorkerActivities) -> None:
    began = asyncio.get_running_loop().time()
    hanging = Hanging(world.client, POLICY_NAMESPACE, PLENTY)
    answer = await worker.save_evidence(evidence_asked(world.order()), hanging)
    assert answer.record is not None
    assert "not saved within 3s" in str(answer.record.problem)
    assert asyncio.get_running_loop().time() - began < EVIDENCE_LONGEST.total_seconds() + 1


def test_label_is_one_that_kubernetes_takes_and_of_each_value_another() -> None:
    long = [f"remediation/{'cluster-' * 6}/NodeHealthCheck/workers/node-{number}" for number in range(3)]
    assert label("NodeHealthCheck/workers") == "NodeHealthCheck_workers"
    assert len({label(name) for name in long}) == 3
    for name in long:
        assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])", label(name))
