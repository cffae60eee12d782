"""An act reads the cluster itself, and makes nothing if that differs from its admission.

It looks at the target, the check, the template, the policy and the global stop, whatever the detector has
observed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import NODE_HEALTH_CHECKS, TEMPLATES
from health.check.template_validity import Template
from health.cluster.global_stop import STOP
from health.model.admission import Admission
from health.model.annotations import HOLD
from health.model.observation import Hold, HoldReason
from health.model.owner_signs import OwnerSign
from health.model.references import TargetReference
from health.policy.policy import KEY, POLICY
from health.policy.policy_in_force import MISSING_POLICY, SHADOW
from kube.resource import CONFIG_MAPS, NAMESPACES, NODES, Resource
from kube.transport import Transport
from objects.timestamps import stamp
from tests.activities.evidence import evidence_asked
from tests.activities.overtaken import Without
from tests.activities.worker_activities import POLICY_NAMESPACE, WorkerActivities
from tests.activities.world import LEASE_NAMESPACE, NAMESPACE, SINCE, World

pytestmark = pytest.mark.cluster

NOT_APPROVED = "requires the approval of a person, and the step has none"
REQUIRES_APPROVAL = "paramedic.dev/require-approval"
MAX_IN_FLIGHT = "paramedic.dev/max-in-flight"
CONFIG = "machineconfiguration.openshift.io"
CHANGING = {f"{CONFIG}/currentConfig": "a", f"{CONFIG}/desiredConfig": "b"}
TAINT = {"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}}
REBOOTING = {"weave.works/kured-reboot-in-progress": stamp(datetime.now(UTC))}
OF_POLICY, OF_CHECK = Admission(policy_limits="maxInFlight=1"), Admission(check_limits="maxInFlight=1")

Change = Callable[[World], Awaitable[None]]


async def held(world: World, worker: WorkerActivities, **changes: object) -> Hold:
    """The hold of an act that made nothing."""
    hold = (await worker.act(world.order(**changes))).hold
    assert hold is not None
    assert (await world.request(), await world.lease()) == (None, None)
    return hold


async def is_made(world: World, worker: WorkerActivities, **changes: object) -> bool:
    return (await worker.act(world.order(**changes))).request is not None


async def annotate_check(world: World, name: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {name: value}}}
    await world.client.merge_patch(NODE_HEALTH_CHECKS, world.name, patch)


async def set_policy(world: World, text: str) -> None:
    await world.client.merge_patch(CONFIG_MAPS, POLICY, {"data": {KEY: text}}, POLICY_NAMESPACE)


@asynccontextmanager
async def policy(world: World, **data: str) -> AsyncIterator[None]:
    """A policy of the whole cluster, which is deleted at the end of the block."""
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, "data": data}, POLICY_NAMESPACE)
    try:
        yield
    finally:
        await world.client.delete(CONFIG_MAPS, POLICY, POLICY_NAMESPACE)


async def node_is_another(world: World) -> None:
    await world.client.delete(NODES, world.name)
    await world.make_node()


CHANGES = [
    pytest.param(lambda world: world.client.delete(NODES, world.name), "is gone", id="node-deleted"),
    pytest.param(node_is_another, "another uid", id="node-recreated"),
    pytest.param(lambda world: world.set_condition("True"), "no longer true", id="recovered"),
    pytest.param(
        lambda world: world.set_condition("False", SINCE + timedelta(seconds=1)),
        "no longer true",
        id="failed-anew",
    ),
    pytest.param(
        lambda world: world.patch_node(labels={"remediation.medik8s.io/exclude-from-remediation": "true"}),
        "excluded",
        id="excluded",
    ),
    pytest.param(lambda world: world.patch_node(labels={world.label: None}), "no longer selects", id="left"),
    pytest.param(lambda world: world.patch_check(minHealthy="51%"), "was edited", id="edited"),
    pytest.param(
        lambda world: world.client.delete(NODE_HEALTH_CHECKS, world.name), "is gone", id="check-deleted"
    ),
]


@pytest.mark.rule("rule 2", "rule 41")
@pytest.mark.parametrize(("change", "words"), CHANGES)
async def test_nothing_is_made_when_something_changed_since_the_admission(
    world: World, worker: WorkerActivities, change: Change, words: str
) -> None:
    await change(world)
    hold = await held(world, worker)
    assert (hold.reason, hold.ask_again_seconds) == (HoldReason.NOT_TRUE, 2)
    assert words in hold.message


@pytest.mark.rule("NHC 2.1/11", "rule 2")
async def test_check_that_is_paused_at_the_judged_generation_makes_nothing(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_check(pauseRequests=["maintenance"])
    assert "maintenance" in (await held(world, worker, generation=2)).message


@pytest.mark.rule("rule 41")
async def test_heartbeat_is_no_change(world: World, worker: WorkerActivities) -> None:
    await world.set_condition("False")
    assert await is_made(world, worker)


@pytest.mark.rule("rule 11/recreated", "rule 41")
async def test_name_alone_is_not_the_node(world: World, worker: WorkerActivities) -> None:
    target = TargetReference(kind="Node", name=world.name, uid="another")
    incident = world.incident.model_copy(update={"target": target})
    assert (await held(world, worker, incident=incident)).reason is HoldReason.NOT_TRUE


@pytest.mark.rule("rule 2")
async def test_node_with_the_annotation_gets_no_request_and_gets_it_after_the_removal(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={HOLD: "replacing its disk"})
    hold = await held(world, worker)
    assert hold.reason is HoldReason.HOLD_ANNOTATION
    assert hold.message == f"the annotation {HOLD} on it: replacing its disk"
    await world.patch_node(annotations={HOLD: None})
    assert await is_made(world, worker)


@pytest.mark.rule("rule 2")
async def test_check_with_the_annotation_gets_no_request(world: World, worker: WorkerActivities) -> None:
    await annotate_check(world, HOLD, "")
    assert (await held(world, worker)).message == f"the annotation {HOLD} on the check"


@pytest.mark.rule("rule 2")
async def test_hold_that_is_over_holds_nothing(world: World, worker: WorkerActivities) -> None:
    over = datetime.now(UTC) - timedelta(minutes=1)
    await world.patch_node(annotations={HOLD: f'{{"until": "{over.isoformat()}"}}'})
    assert await is_made(world, worker)


@pytest.mark.rule("rule 2")
async def test_policy_that_refuses_orders_by_annotation_ends_the_hold(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={HOLD: ""})
    async with policy(world, **{KEY: "ordersByAnnotation: false"}):
        assert await is_made(world, worker)


@pytest.mark.rule("rule 59", "rule 2")
@pytest.mark.parametrize(
    ("patch", "sign"),
    [
        pytest.param({"metadata": {"annotations": CHANGING}}, OwnerSign.MACHINE_CONFIG, id="machine config"),
        pytest.param({"metadata": {"annotations": REBOOTING}}, OwnerSign.KURED, id="kured"),
        pytest.param(TAINT, OwnerSign.KARPENTER, id="karpenter"),
    ],
)
async def test_act_refuses_while_an_owner_works_unless_the_admission_passes_the_sign(
    world: World, worker: WorkerActivities, patch: dict[str, Any], sign: OwnerSign
) -> None:
    await world.client.merge_patch(NODES, world.name, patch)
    hold = await held(world, worker, admission=Admission(passed_signs=("taint example.com/a",)))
    assert (hold.reason, hold.ask_again_seconds) == (HoldReason.OWNER_AT_WORK, 2)
    assert await is_made(world, worker, admission=Admission(passed_signs=(sign,)))


@pytest.mark.rule("rule 59", "rule 2")
async def test_act_goes_on_when_the_sign_says_that_the_work_failed(
    world: World, worker: WorkerActivities
) -> None:
    await world.patch_node(annotations={**CHANGING, f"{CONFIG}/state": "Degraded"})
    assert await is_made(world, worker)


@pytest.mark.rule("rule 59", "rule 2")
async def test_node_that_is_being_deleted_gets_no_request(world: World, worker: WorkerActivities) -> None:
    await world.patch_node(finalizers=["test/keeps"])
    await world.client.delete(NODES, world.name)
    try:
        assert "the Node is being deleted" in (await held(world, worker)).message
    finally:
        await world.patch_node(finalizers=None)


@pytest.mark.rule("rule 59", "rule 2")
async def test_act_reads_the_signs_that_the_policy_leaves_out(world: World, worker: WorkerActivities) -> None:
    await world.client.merge_patch(NODES, world.name, TAINT)
    async with policy(world, **{KEY: "heldNodes: {without: [Karpenter]}"}):
        assert await is_made(world, worker)


async def test_act_refuses_a_step_without_the_approval_that_its_check_requires(
    world: World, worker: WorkerActivities
) -> None:
    await annotate_check(world, REQUIRES_APPROVAL, "true")
    hold = await held(world, worker)
    assert hold.reason is HoldReason.NOT_TRUE
    assert hold.message == f"NodeHealthCheck/{world.name} {NOT_APPROVED}"
    evidence = await worker.save_evidence(evidence_asked(world.order()))
    assert evidence.hold is not None
    assert evidence.hold.message.endswith(NOT_APPROVED)
    assert await is_made(world, worker, is_approved=True)


@pytest.mark.parametrize(("value", "why"), [("true", NOT_APPROVED), ("yes", "(found 'yes')\"")])
async def test_act_refuses_a_step_whose_template_requires_an_approval_or_cannot_be_read(
    world: World, worker: WorkerActivities, value: str, why: str
) -> None:
    await world.remove_template()
    await world.make_template({REQUIRES_APPROVAL: value})
    assert (await held(world, worker)).message.endswith(why)
    assert await is_made(world, worker, is_approved=True) is (value == "true")


async def test_act_refuses_a_template_that_was_edited_since_its_approval(
    world: World, worker: WorkerActivities
) -> None:
    async def version() -> str:
        found = await world.client.get(TEMPLATES, world.name, NAMESPACE)
        return Template.model_validate(found).version

    approved = await version()
    edit = {"spec": {"template": {"spec": {"powerOffSeconds": 700}}}}
    await world.client.merge_patch(TEMPLATES, world.name, edit, NAMESPACE)
    hold = await held(world, worker, is_approved=True, approved_version=approved)
    assert hold.message.endswith("was edited since its approval")
    assert await is_made(world, worker, is_approved=True, approved_version=await version())


@pytest.mark.rule("rule 49", "rule 49/act")
async def test_act_refuses_a_slot_that_was_not_reserved_under_the_limits_of_the_policy(
    world: World, worker: WorkerActivities
) -> None:
    async with policy(world, **{KEY: "limits: {maxInFlight: 1}"}):
        why = "are maxInFlight=1 by the policy, and a slot was reserved under no limit"
        assert (await held(world, worker)).message.endswith(why)

        await set_policy(world, "limits: {maxInFlight: 2}")
        why = "are maxInFlight=2 by the policy, and a slot was reserved under maxInFlight=1 by the policy"
        assert (await held(world, worker, admission=OF_POLICY)).message.endswith(why)

        await set_policy(world, "backOffLimit: 0s")
        hold = await held(world, worker, admission=OF_POLICY)
        assert hold.reason is HoldReason.NOT_TRUE
        assert hold.message.endswith(
            "are no limit, and a slot was reserved under maxInFlight=1 by the policy"
        )

        await set_policy(world, "limits: {maxInFlight: 1}")
        assert await is_made(world, worker, admission=OF_POLICY)


@pytest.mark.rule("rule 49", "rule 49/act")
async def test_act_goes_by_the_limits_of_the_detector_where_the_policy_cannot_be_taken(
    world: World, worker: WorkerActivities
) -> None:
    async with policy(world, **{KEY: "limits: {maxInFlight: many}"}):
        await annotate_check(world, MAX_IN_FLIGHT, "1")
        why = "by the check, and a slot was reserved under maxInFlight=1 by the policy"
        assert (await held(world, worker, admission=OF_POLICY)).message.endswith(why)
        await annotate_check(world, MAX_IN_FLIGHT, None)
        assert await is_made(world, worker, admission=OF_POLICY)


@pytest.mark.rule("rule 49", "rule 49/act")
async def test_act_and_evidence_refuse_a_step_without_the_slot_that_its_check_requires(
    world: World, worker: WorkerActivities
) -> None:
    await annotate_check(world, MAX_IN_FLIGHT, "1")
    why = "are maxInFlight=1 by the check, and a slot was reserved under no limit"
    assert (await held(world, worker)).message.endswith(why)
    refused = await worker.save_evidence(evidence_asked(world.order()))
    assert refused.hold is not None
    assert refused.hold.reason is HoldReason.NOT_TRUE
    for changes in ({"admission": OF_CHECK}, {"is_shadow": True}):
        saved = await worker.save_evidence(evidence_asked(world.order(), **changes))
        assert saved.record is not None
        assert saved.record.is_saved
    assert await is_made(world, worker, admission=OF_CHECK)


@pytest.mark.rule("rule 43")
@pytest.mark.parametrize(
    ("value", "why"), [("true", "is in shadow: nothing is written"), ("yes", "(found 'yes')")]
)
async def test_act_makes_nothing_where_the_check_is_in_shadow_or_cannot_be_told(
    world: World, worker: WorkerActivities, value: str, why: str
) -> None:
    await annotate_check(world, SHADOW, value)
    hold = await held(world, worker)
    assert hold.reason is HoldReason.NOT_TRUE
    assert hold.message.endswith(why)


@pytest.mark.rule("rule 43")
async def test_act_makes_nothing_where_the_policy_says_shadow(world: World, worker: WorkerActivities) -> None:
    async with policy(world, **{KEY: "shadow: true"}):
        hold = await held(world, worker)
        assert hold.reason is HoldReason.NOT_TRUE
        assert hold.message == "every check is in shadow: nothing is written"
        # The last valid policy, which the detector uses, admitted the act.
        await set_policy(world, "shadow: perhaps")
        assert await is_made(world, worker)


@pytest.mark.rule("rule 43", "rule 51")
async def test_act_makes_nothing_while_a_required_policy_is_missing_and_goes_on_when_it_is_back(
    world: World, worker_transport: Transport
) -> None:
    worker = WorkerActivities(worker_transport, requires_policy=True)
    missing = (MISSING_POLICY.reason, MISSING_POLICY.message)
    hold = await held(world, worker)
    assert (hold.reason, hold.message) == missing
    async with policy(world, **{"another-key": "shadow: true"}):
        hold = await held(world, worker)
        assert (hold.reason, hold.message) == missing
        restored = {"data": {"another-key": None, KEY: "{}"}}
        await world.client.merge_patch(CONFIG_MAPS, POLICY, restored, POLICY_NAMESPACE)
        assert await is_made(world, worker)


@pytest.mark.rule("rule 42", "rule 42/without Temporal")
async def test_act_makes_nothing_while_the_annotation_of_the_global_stop_is_there(
    world: World, worker: WorkerActivities
) -> None:
    async def annotate(reason: str | None) -> None:
        patch = {"metadata": {"annotations": {STOP: reason}}}
        await world.client.merge_patch(NAMESPACES, LEASE_NAMESPACE, patch)

    await annotate("power work")
    try:
        hold = await held(world, worker)
    finally:
        await annotate(None)
    assert (hold.reason, hold.message) == (HoldReason.STOPPED, "stopped in the whole cluster: power work")


@pytest.mark.rule("rule 42", "rule 42/without Temporal")
async def test_namespace_of_leases_that_is_missing_or_cannot_be_read_holds(
    world: World, administrator: Transport, worker_transport: Transport
) -> None:
    namespace = f"leases-{uuid4().hex[:8]}"
    assert namespace in (await held(world, WorkerActivities(administrator, namespace))).message
    assert "forbidden" in (await held(world, WorkerActivities(worker_transport, "kube-public"))).message


@pytest.mark.rule("rule 42", "rule 42/without Temporal")
@pytest.mark.parametrize("resource", [NAMESPACES, CONFIG_MAPS], ids=["the stop", "the policy"])
async def test_answer_that_names_no_object_does_not_say_that_nothing_is_stopped_or_in_shadow(
    world: World, control_plane: ControlPlane, resource: Resource
) -> None:
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as transport:
        worker = WorkerActivities(transport, client=Without(transport, resource))
        assert f"No {resource.plural} are served here" in (await held(world, worker)).message
