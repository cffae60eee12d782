from datetime import UTC, datetime, timedelta

import pytest

from health.model.observation import HoldReason
from health.model.remediation_request import (
    INCIDENT,
    MULTIPLE_TEMPLATES,
    NODE_NAME,
    TARGET_UID,
    TEMPLATE_NAME,
)
from tests.activities.worker_activities import LABELS, WorkerActivities
from tests.activities.world import DEMO, NAMESPACE, TEMPLATES, World
from workflows.contracts import ActResult

pytestmark = pytest.mark.cluster

SET_BY_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


@pytest.mark.rule(
    "NHC 1.7/aggregate-to-ext-remediation",
    "NHC 1.7/node-name",
    "NHC 1.7/part-of",
    "NHC 1.7/template-name",
    "NHC 2.4/3",
    "NHC 2.4/3/name",
    "NHC 2.4/3/owners",
)
async def test_act_makes_the_request_that_remediators_expect(world: World, worker: WorkerActivities) -> None:
    result = await worker.act(world.order())
    made = await world.request()
    assert made is not None
    assert result.hold is None
    assert result.request is not None
    assert result.request.uid == made["metadata"]["uid"]
    for field in SET_BY_THE_SERVER:
        del made["metadata"][field]
    assert made == {
        "apiVersion": "demo.paramedic.dev/v1",
        "kind": "PowerCycleRemediation",
        "metadata": {
            "name": world.name,
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/part-of": "node-healthcheck-controller"} | LABELS,
            "annotations": {
                NODE_NAME: world.name,
                TEMPLATE_NAME: world.name,
                INCIDENT: world.incident.workflow_id,
                TARGET_UID: world.node_uid,
            },
            "ownerReferences": [
                {
                    "apiVersion": "remediation.medik8s.io/v1alpha1",
                    "kind": "NodeHealthCheck",
                    "name": world.name,
                    "uid": world.check_uid,
                    "controller": False,
                }
            ],
        },
        "spec": {"powerOffSeconds": 7},
    }


@pytest.mark.rule("NHC 1.8/duration", "NHC 1.8/holder", "NHC 2.5/durations", "NHC 2.5/obtain/missing")
@pytest.mark.parametrize(("timeout_seconds", "lasts"), [(None, 660), (300, 360)])
async def test_act_takes_the_lease_of_the_node_for_ten_minutes_or_the_timeout_of_its_step_and_one_more(
    world: World, worker: WorkerActivities, timeout_seconds: float | None, lasts: int
) -> None:
    order = world.order()
    if timeout_seconds is not None:
        order = await world.order_with_timeout(timeout_seconds)
    await worker.act(order)
    lease = await world.lease()
    assert lease is not None
    assert lease["holderIdentity"] == f"NodeHealthCheck-{world.name}"
    assert lease["leaseDurationSeconds"] == lasts


@pytest.mark.rule("NHC 1.7/isControlPlaneNode")
async def test_request_of_a_control_plane_node_says_so(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(labels={"node-role.kubernetes.io/control-plane": ""})
    await worker.act(world.order())
    made = await world.request()
    assert made is not None
    assert made["metadata"]["labels"]["remediation.medik8s.io/isControlPlaneNode"] == ""


async def test_node_with_a_machine_is_remediated_where_there_are_no_machines(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={"machine.openshift.io/machine": f"{NAMESPACE}/machine-1"})
    await worker.act(world.order())
    made = await world.request()
    assert made is not None
    assert [owner["kind"] for owner in made["metadata"]["ownerReferences"]] == ["NodeHealthCheck"]


@pytest.mark.rule("NHC 2.4/4")
async def test_act_that_is_tried_again_meets_its_own_request(world: World, worker: WorkerActivities) -> None:
    first = await worker.act(world.order())
    assert first.request is not None
    assert await worker.act(world.order()) == first


@pytest.mark.rule("NHC 1.7/multiple-templates-support", "NHC 2.4/3/name")
async def test_template_for_many_requests_gets_a_name_that_a_retry_finds_again(
    world: World, worker: WorkerActivities
) -> None:
    await world.remove_template()
    await world.make_template({MULTIPLE_TEMPLATES: "true"})
    first = await worker.act(world.order())
    assert first.request is not None
    assert first.request.reference.name.startswith(f"{world.name}-")
    assert await worker.act(world.order()) == first


@pytest.mark.rule("NHC 2.7/template edited")
async def test_edited_template_is_used_for_new_requests_only(world: World, worker: WorkerActivities) -> None:
    first = await worker.act(world.order())
    assert first.request is not None
    edited = {"spec": {"template": {"spec": {"powerOffSeconds": 8}}}}
    await world.client.merge_patch(TEMPLATES, world.name, edited, NAMESPACE)
    assert await worker.act(world.order(known=(first.request.reference,))) == ActResult.requested(
        first.request
    )
    made = await world.request()
    assert made is not None
    assert made["spec"] == {"powerOffSeconds": 7}
    await world.remove_request(world.name)
    await worker.act(world.order())
    made = await world.request()
    assert made is not None
    assert made["spec"] == {"powerOffSeconds": 8}


@pytest.mark.rule("NHC 2.4/4", "rule 39")
async def test_request_that_the_operator_made_for_this_check_is_adopted(
    world: World, worker: WorkerActivities
) -> None:
    existing = await world.make_request()
    result = await worker.act(world.order())
    assert result.request is not None
    assert result.request.uid == existing.uid


@pytest.mark.rule("rule 4")
async def test_order_that_waited_too_long_is_refused_without_a_request(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    result = await worker_in_the_dark.act(world.order(), waited=timedelta(seconds=5.1))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.STALE_FACTS


@pytest.mark.rule("rule 3")
async def test_api_server_that_is_away_is_a_hold_and_the_incident_asks_anew(
    world: World, worker_in_the_dark: WorkerActivities
) -> None:
    result = await worker_in_the_dark.act(world.order(), waited=timedelta(seconds=4.9))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.FAILED
    assert result.hold.ask_again_seconds == 5


@pytest.mark.rule("rule 3", "rule 27")
async def test_template_of_a_kind_that_may_not_be_read_is_reported_in_the_servers_words(
    world: World, worker: WorkerActivities
) -> None:
    result = await worker.act(await world.order_with_template("v1", "PodTemplate"))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.REFUSED
    assert "podtemplates" in result.hold.message
    assert result.hold.request_error is None, "no request was to be created yet"


@pytest.mark.rule("rule 2", "rule 3")
@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        pytest.param(DEMO, "UnheardOfTemplate", id="unknown-kind"),
        pytest.param("nowhere.example.com/v1", "UnheardOfTemplate", id="unknown-group"),
        pytest.param("v1", "PodTemplate", id="no-such-template"),
    ],
)
async def test_template_that_is_not_there_is_a_hold(
    world: World, admin_worker: WorkerActivities, api_version: str, kind: str
) -> None:
    result = await admin_worker.act(await world.order_with_template(api_version, kind))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.TEMPLATE
    assert result.hold.message.startswith("Remediation template not found")
    assert await world.lease() is None


@pytest.mark.rule("rule 2", "rule 3")
async def test_template_without_contents_is_a_hold(world: World, admin_worker: WorkerActivities) -> None:
    await world.make_pod_template()
    result = await admin_worker.act(await world.order_with_template("v1", "PodTemplate"))
    assert result.hold is not None
    assert result.hold.reason is HoldReason.TEMPLATE
    assert "didn't find spec.template.spec" in result.hold.message
    assert await world.lease() is None


@pytest.mark.rule("NHC 2.5/obtain/foreign", "rule 13")
async def test_node_whose_lease_another_holds_is_left_to_it(world: World, worker: WorkerActivities) -> None:
    await world.make_lease("somebody", datetime.now(UTC))
    result = await worker.act(world.order())
    assert result.hold is not None
    assert result.hold.reason is HoldReason.TAKEN
    assert "somebody" in result.hold.message
    assert await world.request() is None
    lease = await world.lease()
    assert lease is not None
    assert lease["holderIdentity"] == "somebody"


@pytest.mark.rule("NHC 2.5/obtain/expired")
async def test_lease_that_another_let_expire_is_taken_over(world: World, worker: WorkerActivities) -> None:
    await world.make_lease("somebody", datetime.now(UTC) - timedelta(minutes=11))
    assert (await worker.act(world.order())).request is not None
    lease = await world.lease()
    assert lease is not None
    assert (lease["holderIdentity"], lease["leaseTransitions"]) == (world.holder, 1)
