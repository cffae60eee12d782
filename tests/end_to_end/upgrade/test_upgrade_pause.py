"""Checks are paused while the cluster is upgraded, whatever happens to our processes meanwhile."""

import asyncio

import pytest
from temporalio.client import WorkflowHandle

from health.gate.pause import PAUSED
from health.upgrade.memory import How
from tests.end_to_end.cluster_context.openshift import OpenShift
from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.machines.check import Check
from tests.end_to_end.machines.machines import Machines
from workflows.upgrade_contracts import UpgradePauseResult, upgrade_pause_id

pytestmark = pytest.mark.cluster

MARK = "machine.openshift.io/paused-for-upgrade"
NOBODY = {"matchLabels": {"selects": "nobody"}}


async def until_annotated(check: Check, *keys: str) -> None:
    """Return when the check has these of the two annotations, and not the other."""

    async def is_so() -> bool:
        annotations = (await check.get())["metadata"].get("annotations") or {}
        return annotations.keys() & {PAUSED, MARK} == {*keys}

    await check.world.until(is_so, f"{check.name} never had just {keys}")


@pytest.mark.rule(
    "MHC C.2/begin",
    "MHC C.2/found paused",
    "MHC C.2/created",
    "MHC C.2/unpaused",
    "MHC C.2/end",
    "MHC C.2/restart",
    "rule 34",
    "rule 46",
)
async def test_checks_are_paused_until_the_upgrade_is_over_but_for_the_one_that_a_person_unpauses(
    machines: Machines, openshift: OpenShift, paramedic: Paramedic
) -> None:
    (machine,) = await machines.add("hangs")
    ours = await machines.add_check()
    anothers = await machines.add_check("anothers", {PAUSED: "by hand"}, selector=NOBODY)
    began = await openshift.set_progressing("True")
    await until_annotated(ours, PAUSED, MARK)
    later = await machines.add_check("later", selector=NOBODY)
    await until_annotated(later, PAUSED, MARK)

    await asyncio.gather(paramedic.detector.kill(), paramedic.worker.kill())
    await ours.unpause()
    await machines.world.fail(machine)
    await paramedic.start()

    await machines.until_going(machine)
    await until_annotated(ours, MARK)
    await until_annotated(anothers, PAUSED)
    await until_annotated(later, PAUSED, MARK)
    await openshift.set_progressing("False")

    await until_annotated(ours)
    await until_annotated(later)
    await until_annotated(anothers, PAUSED)
    result = await ended(machines)
    assert result.upgrading_since == began
    assert {one.reference.name: one.how for one in result.checks} == {
        "workers": How.UNPAUSED_BY_OTHERS,
        "anothers": How.FOUND_PAUSED,
        "later": How.UNPAUSED,
    }


async def ended(machines: Machines) -> UpgradePauseResult:
    """How the upgrade pause of the cluster ends; waits until it has."""
    world = machines.world
    handle: WorkflowHandle[object, UpgradePauseResult] = world.temporal.get_workflow_handle(
        upgrade_pause_id(world.cluster), result_type=UpgradePauseResult
    )
    async with asyncio.timeout(world.patience.total_seconds()):
        return await handle.result()
