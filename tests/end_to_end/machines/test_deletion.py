"""An unhealthy Machine is deleted once, if a controller would replace it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.simulation.resources import MACHINES
from objects.timestamps import stamp
from tests.support.story.audit import DETECTOR, deletions, writes
from tests.support.story.machine_check import Check
from tests.support.story.machine_incidents import CHECK
from tests.support.story.machines import FINALIZER, Machines
from tests.support.story.paramedic import Paramedic
from tests.support.values.metric_samples import Series, series

pytestmark = pytest.mark.cluster

DELETED = "Machine {ns}/workers/{name}/{name} has been remediated by requesting to delete Machine object"


@pytest.mark.rule(
    "MHC A.2.5/delete",
    "MHC A.1/event/MachineDeleted",
    "MHC A.1/event/DetectedUnhealthy",
    "MHC A.1/event/form",
    "MHC A.1/metric/mapi_machinehealthcheck_remediation_success_total",
    "MHC A.1/metric/mapi_machinehealthcheck_nodes_covered",
    "MHC A.1/metric/mapi_machinehealthcheck_short_circuit",
    "MHC A.2.1/Machine",
    "MHC A.2.1/Node",
)
async def test_machine_of_a_dead_node_is_deleted_once_and_waited_for_until_it_is_gone(
    machines: Machines, control_plane: ControlPlane, paramedic: Paramedic
) -> None:
    name, other = await machines.add("a", "b", finalizers=[FINALIZER])
    check = await machines.add_check()
    await check.until_numbers(2, 2, 2)
    await machines.world.fail(name)

    await machines.until_going(name)
    waiting = await machines.until_state(
        name, lambda state: state.memory.disruption.deleted_at is not None and state.phase == "Remediating"
    )
    assert "it was deleted, and is not gone yet" in waiting.details or "is being deleted" in waiting.details
    await check.until_numbers(2, 1, 1)
    await machines.world.recover(name)  # its Node has no influence any more
    await machines.until_state(
        name,
        lambda state: state.phase == "Remediating" and f"{name} is healthy; " in state.details,
    )
    await machines.let_go(name)

    assert await machines.outcome(name) == "Remediated"
    await check.until_numbers(1, 1, 1)
    assert not await machines.is_going(other)
    assert deletions(control_plane.audit_log, machines.namespace, name) == [200]
    event = await machines.until_told(name, "MachineDeleted")
    assert event["message"] == DELETED.format(ns=machines.namespace, name=name)
    detected = await machines.until_told(name, "DetectedUnhealthy")
    about = {"kind": "Machine", "namespace": machines.namespace, "name": name}
    for told, action in ((event, "Remediate"), (detected, "HealthCheck")):
        assert about.items() <= told["involvedObject"].items()
        assert (told["type"], told["action"]) == ("Normal", action)
        assert told["source"]["component"] == "machinehealthcheck-controller"
    asked = [ask for ask in writes(control_plane.audit_log, machines.namespace) if ask[0] == DETECTOR]
    assert {what.partition("/")[0] for _, _, what, _ in asked} == {"machinehealthchecks", "events"}
    await _must_be_counted(machines, paramedic)


async def _must_be_counted(machines: Machines, paramedic: Paramedic) -> None:
    def of_check(metric: str) -> Series:
        return series(f"mapi_machinehealthcheck_{metric}", name=CHECK, namespace=machines.namespace)

    assert (await paramedic.worker.metrics())[of_check("remediation_success_total")] == 1
    seen = await paramedic.detector.metrics()
    assert (seen[of_check("nodes_covered")], seen[of_check("short_circuit")]) == (1, 0)
    await Check(machines.world, CHECK).delete()

    async def has_ended() -> bool:
        return of_check("nodes_covered") not in await paramedic.detector.metrics()

    await machines.world.until(has_ended, "the series of the check never ended")


@pytest.mark.rule(
    "MHC A.2.3/1",
    "MHC A.2.3/2",
    "MHC A.2.3/3",
    "MHC A.2.5/deleting",
    "MHC A.2.5/no controller",
    "MHC A.1/event/SkippedNoController",
    "MHC A.2.1/targets",
    "MHC A.2.1/check",
    "MHC A.2.1/Node",
    "MHC A.1/nodeStartupTimeout",
    "rule 25",
    "rule 26",
    "rule 53",
)
async def test_machine_is_deleted_for_each_reason_except_while_it_is_deleted_or_without_a_controller(
    machines: Machines, control_plane: ControlPlane
) -> None:
    failed, nodeless, going = await machines.add("failed", "nodeless", "going", finalizers=[FINALIZER])
    orphan, slow = await machines.add_orphan("alone"), f"{machines.namespace}-slow"
    long_ago = stamp(datetime.now(UTC) - timedelta(hours=5))
    await machines.set_status(orphan, phase="Failed", lastUpdated=long_ago)
    check = await machines.add_check(unhealthyConditions=None, nodeStartupTimeout="0")
    await machines.add_alone(slow, "", finalizers=[FINALIZER])
    await check.until_numbers(5, 3, 3)
    await machines.client.delete(MACHINES, going, machines.namespace)

    await asyncio.gather(
        *(machines.set_status(name, phase="Failed") for name in (failed, going)),
        machines.world.delete_node(nodeless),
    )
    await machines.until_going(failed, nodeless)
    await machines.until_held(orphan, "NoController: ")
    assert not await machines.is_going(slow)
    assert not await machines.has_incident(slow)
    await machines.set_status(slow, lastUpdated=datetime.now(UTC).isoformat(timespec="seconds"))
    await check.edit(
        nodeStartupTimeout="3s"
    )  # a running timer is needed: a Machine that is being deleted has not failed

    await machines.until_going(slow)
    state = await machines.until_state(going, lambda state: state.phase == "Remediating")
    assert f"{going} is being deleted" in state.details
    told = await machines.until_told(orphan, "SkippedNoController")
    assert told["message"].endswith(f"/{orphan} has no controller owner, skipping remediation")
    for name in (going, orphan):
        assert deletions(control_plane.audit_log, machines.namespace, name) == []
    (controller,) = (await machines.get(failed) or {})["metadata"]["ownerReferences"]
    await machines.set_metadata(orphan, ownerReferences=[controller])
    assert await machines.outcome(orphan) == "Remediated"
    await machines.until_told(slow, "DetectedUnhealthy")
    every = (failed, nodeless, slow, going)
    await asyncio.gather(*(machines.let_go(name) for name in every))
    assert [await machines.outcome(name) for name in every] == ["Remediated"] * 3 + ["Gone"]
    await check.until_numbers(0, 0, 0)
    counts = [len(await machines.events(name, "DetectedUnhealthy")) for name in (*every, orphan)]
    assert counts == [0, 1, 1, 0, 0]  # the Machine without a Node waited five seconds (rule 50)
