"""The threshold: two of five may be unhealthy, three may not. A short-circuited check writes nothing."""

import asyncio

import pytest

from devcluster.control_plane import ControlPlane
from tests.support.story.audit import until_quiet, writes
from tests.support.story.machine_check import Check
from tests.support.story.machine_incidents import CHECK
from tests.support.story.machines import FINALIZER, Machines
from tests.support.story.paramedic import Paramedic
from tests.support.values.metric_samples import series

pytestmark = pytest.mark.cluster

RESTRICTED = "Remediation restricted due to exceeded number of unhealthy machines"
NOT_ALLOWED = (
    "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy"
)


@pytest.mark.rule(
    "MHC A.2.4/threshold",
    "MHC A.2.4/rounding",
    "MHC A.2.4/blocked",
    "MHC A.1/status/RemediationAllowed",
    "MHC A.1/status/remediationsAllowed",
    "MHC A.1/event/RemediationRestricted",
    "MHC A.1/metric/mapi_machinehealthcheck_short_circuit",
    "MHC A.1/refused",
    "MHC A.2.1/heartbeat",
    "MHC A.2.1/check",
    "rule 4",
    "rule 6",
    "rule 8",
    "rule 15",
)
async def test_three_of_five_are_too_many_for_half_of_them_and_are_remediated_when_one_recovers(
    machines: Machines, control_plane: ControlPlane, paramedic: Paramedic
) -> None:
    names = await machines.add(*"abcde", finalizers=[FINALIZER])
    check = await machines.add_check(
        maxUnhealthy="100%", unhealthyConditions=[{"type": "Ready", "status": "Unknown", "timeout": "2s"}]
    )
    await check.until_numbers(5, 5, 5)  # before, Nodes that the detector has not read would exceed the half
    await check.edit(maxUnhealthy="50%")
    await check.until_numbers(5, 5, 2)
    await machines.world.fail(*names[:3])

    await check.until_numbers(5, 2, 0)
    numbers = "(total: 5, unhealthy: 3, maxUnhealthy: 50%)"
    assert await check.condition("RemediationAllowed") == {
        "status": "False",
        "severity": "Warning",
        "reason": "TooManyUnhealthy",
        "message": f"{NOT_ALLOWED} {numbers}",
    }
    await asyncio.gather(*(machines.until_held(name, "Threshold: ") for name in names[:3]))
    told = await machines.until_told(CHECK, "RemediationRestricted")
    assert (told["type"], told["message"]) == ("Warning", f"{RESTRICTED} {numbers}")
    gauge = series("mapi_machinehealthcheck_short_circuit", name=CHECK, namespace=machines.namespace)
    assert (await paramedic.detector.metrics())[gauge] == 1
    await _must_cost_nothing(machines, control_plane, names)

    await machines.world.recover(names[0])
    await machines.until_going(*names[1:3])
    assert await check.until_condition("RemediationAllowed", status="True") == {"status": "True"}
    await check.until_numbers(5, 3, 0)
    assert not [name for name in (names[0], *names[3:]) if await machines.is_going(name)]
    assert await machines.outcome(names[0]) == "Recovered"
    assert len(await machines.events(CHECK)) == 1
    await _must_say_what_cannot_be_read(machines, check)


async def _must_cost_nothing(machines: Machines, control_plane: ControlPlane, names: list[str]) -> None:
    """Changes of the Machines and reports of their kubelets must cause no write."""
    await until_quiet(
        machines.world, control_plane.audit_log, *(machines.workflow(name) for name in names[:3])
    )
    told = len(await machines.events(CHECK))
    before = writes(control_plane.audit_log, machines.namespace)
    lengths = [(await machines.workflow(name).describe()).history_length for name in names[:3]]
    for beat in range(10):
        for name in names:
            await machines.world.set_annotation(name, "heartbeat", str(beat))
            await machines.set_metadata(name, annotations={"touched": str(beat)})
            await machines.set_status(name, lastUpdated=f"2026-01-01T00:00:{beat:02}Z")
    await machines.world.set_annotation(names[4], "heartbeat", None)

    assert writes(control_plane.audit_log, machines.namespace) == before
    assert [(await machines.workflow(name).describe()).history_length for name in names[:3]] == lengths
    assert (told, len(await machines.events(CHECK))) == (1, 1)
    assert not [name for name in names if await machines.is_going(name)]


async def _must_say_what_cannot_be_read(machines: Machines, check: Check) -> None:
    """The invalid field and its value are reported once, without old numbers, until the check is valid."""
    await check.edit(maxUnhealthy=-1)
    said = await check.until_condition("RemediationAllowed", reason="InvalidSpec")
    assert (said["status"], said["severity"]) == ("False", "Error")
    told = await machines.until_told(CHECK, "InvalidSpec")
    assert told["type"] == "Warning"
    for text in (said["message"], told["message"]):
        assert "spec.maxUnhealthy" in text
        assert "-1" in text
    status = (await check.get())["status"]
    assert (set(status), status["remediationsAllowed"]) == ({"conditions", "remediationsAllowed"}, 0)
    await check.edit(maxUnhealthy="50%")
    await check.until_condition("RemediationAllowed", status="True")
    await check.until_numbers(5, 3, 0)
