"""Evidence of a Machine whose Node is in a workload cluster that answers, or that does not answer in time."""

import pytest
import yaml

from kube.resource import CONFIG_MAPS, EVENTS, PODS, Object
from tests.activities.clusterapi.world import ClusterApiWorld
from tests.activities.evidence import evidence_asked
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE, WANTS_EVIDENCE
from tests.support.api.api_server import hanging, said

pytestmark = pytest.mark.cluster


async def test_late_answers_of_a_workload_cluster_are_missing_and_the_rest_is_saved(
    world: ClusterApiWorld, worker: WorkerActivities
) -> None:
    event = {"lastTimestamp": "2026-01-01T00:00:00Z", "message": "of the workload cluster"}
    events = {"metadata": {"resourceVersion": "1"}, "items": [event]}
    world.workload.answer("GET", EVENTS.path("default"), said(events))
    world.workload.answer("GET", PODS.path(), hanging)
    wants: Object = {"metadata": {"annotations": dict(WANTS_EVIDENCE)}}
    await world.client.merge_patch(world.checks, world.name, wants, NAMESPACE)

    record = (await worker.save_evidence(evidence_asked(world.order()))).record

    assert record is not None
    assert (record.problem, record.lacks) == (None, ("no pods: it was not read within 2s",))
    found = await world.client.get(CONFIG_MAPS, record.name, record.namespace)
    await world.client.delete(CONFIG_MAPS, record.name, record.namespace)
    read = {name: yaml.safe_load(body) for name, body in found["data"].items()}
    assert read["machine.yaml"]["metadata"]["uid"] == world.machine_uid
    assert read["machine.yaml"]["kind"] == "Machine"
    assert read["node.yaml"]["metadata"]["name"] == world.name
    assert [one["message"] for one in read["events-of-node.yaml"]] == ["of the workload cluster"]
    assert read["pods.yaml"] == []
    assert read["incident.yaml"]["clusterOfNode"] == f"default/{world.name}"
