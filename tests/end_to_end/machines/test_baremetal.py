"""external-baremetal: Machines are marked for the provider of bare metal, which removes the mark."""

import asyncio

import pytest

from devcluster.control_plane import ControlPlane
from tests.support.story.audit import deletions, until_quiet, writes
from tests.support.story.machines import FINALIZER, Machines

pytestmark = pytest.mark.cluster

MARK = "host.metal3.io/external-remediation"
STRATEGY = "machine.openshift.io/remediation-strategy"
BAREMETAL = {STRATEGY: "external-baremetal"}


@pytest.mark.rule(
    "rule 28",
    "MHC A.2.5/mark",
    "MHC A.2.4/healthy",
    "MHC A.1/annotation/external-remediation",
    "MHC A.1/annotation/remediation-strategy",
    "MHC A.1/event/ExternalAnnotationAdded",
)
async def test_machines_are_marked_once_and_counted_until_the_provider_takes_the_mark_off(
    machines: Machines, control_plane: ControlPlane
) -> None:
    orphan = await machines.add_orphan("alone")
    owned, failed = await machines.add("owned", "failed", finalizers=[FINALIZER])
    check = await machines.add_check(annotations=BAREMETAL)
    await check.until_numbers(3, 3, 3)
    await machines.world.fail(orphan, owned)
    await machines.set_status(failed, phase="Failed")

    await machines.until_going(failed)
    for name in (orphan, owned):
        told = await machines.until_told(name, "ExternalAnnotationAdded")
        assert told["message"].startswith("Requesting external remediation of node associated with machine ")
        assert await machines.annotation(name, MARK) == ""
    waiting = await machines.until_state(owned, lambda state: state.phase == "Remediating")
    assert waiting.requests == ()

    await machines.world.recover(owned)  # its Node recovers before the provider has finished
    assert await machines.outcome(owned) == "Remediated"
    await check.until_numbers(3, 0, 0)
    assert await machines.annotation(owned, MARK) == ""
    for name in (orphan, owned):
        await machines.set_metadata(name, annotations={MARK: None})
    await check.until_numbers(3, 1, 1)
    # The Machine is still unhealthy and no provider works on it, so it is marked again.
    await machines.until_state(orphan, lambda state: state.phase == "Remediating")
    await check.until_numbers(3, 1, 1)
    await machines.world.recover(orphan)
    assert await machines.outcome(orphan) == "Remediated"

    assert not [name for name in (orphan, owned) if await machines.is_going(name)]
    asked = writes(control_plane.audit_log, machines.namespace)
    assert [ask[1:] for ask in asked if ask[2] == f"machines/{owned}"] == [
        ("patch", f"machines/{owned}", 200)
    ]
    assert deletions(control_plane.audit_log, machines.namespace, failed) == [200]


@pytest.mark.rule(
    "rule 7/paused check",
    "MHC A.2.8/nothing",
    "MHC A.2.8/in flight",
    "MHC C.2/in flight",
    "MHC A.2.8/clock",
    "MHC A.1/annotation/paused",
    "MHC A.2.1/check",
)
async def test_paused_check_writes_nothing_and_does_at_once_what_is_due_when_the_pause_ends(
    machines: Machines, control_plane: ControlPlane
) -> None:
    names = ("going", "recovers", "fails", "hiccups")
    going, recovers, fails, hiccups = await machines.add(*names, finalizers=[FINALIZER])
    await machines.set_metadata(recovers, labels={"with": "template"})
    for name in (going, fails, hiccups):
        await machines.set_metadata(name, labels={"with": "nothing"})
    requesting = await machines.add_check(
        "requesting",
        selector={"matchLabels": {"with": "template"}},
        remediationTemplate=await machines.add_template(),
    )
    deleting = await machines.add_check("deleting", selector={"matchLabels": {"with": "nothing"}})
    await machines.world.fail(going, recovers)
    await machines.until_going(going)
    await machines.until_state(recovers, lambda state: state.phase == "Remediating", "requesting")
    await requesting.until_numbers(1, 0, 0)
    await deleting.until_numbers(3, 2, 2)

    await asyncio.gather(requesting.pause("false"), deleting.pause())
    await until_quiet(machines.world, control_plane.audit_log)
    versions = [await check.version() for check in (requesting, deleting)]
    before = writes(control_plane.audit_log, machines.namespace)
    await machines.world.recover(recovers)
    await machines.world.fail(fails, hiccups)
    await machines.until_held(fails, "Paused: ", "deleting")
    await machines.until_held(hiccups, "Paused: ", "deleting")
    await machines.world.recover(hiccups)
    await machines.let_go(going)  # the ordered deletion goes on
    await machines.until_state(recovers, lambda state: "Paused: " in state.details, "requesting")

    async def is_gone() -> bool:
        return await machines.get(going) is None

    await machines.world.until(is_gone, "the deletion was taken back")
    await machines.until_state(fails, lambda state: state.phase == "Held", "deleting")
    assert [await check.version() for check in (requesting, deleting)] == versions
    assert writes(control_plane.audit_log, machines.namespace) == before
    assert machines.world.requests.existing(recovers) == 1
    assert not await machines.is_going(fails)

    await asyncio.gather(requesting.unpause(), deleting.unpause())
    assert await machines.outcome(recovers, "requesting") == "Remediated"
    await machines.until_going(fails)
    await machines.let_go(fails)
    assert await machines.outcome(fails, "deleting") == "Remediated"
    assert await machines.outcome(going, "deleting") == "Remediated"
    assert await machines.outcome(hiccups, "deleting") == "Recovered"
    await requesting.until_numbers(1, 1, 1)
    await deleting.until_numbers(1, 1, 1)
