"""An escalation whose worker and detector are killed in its second step."""

import asyncio

import pytest

from tests.end_to_end.conftest import Paramedic
from tests.end_to_end.escalation import Escalation, timed_out
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster


@pytest.mark.rule("NHC 2.7/restart", "NHC 2.4/6/kept", "rule 40/exhausted", "rule 15")
async def test_escalation_goes_on_where_both_processes_were_killed(
    world: World, paramedic: Paramedic
) -> None:
    escalation = Escalation(world)
    at_work, failed = await world.add_nodes(2)
    await escalation.add("first", "second", "third")
    await world.fail(at_work, failed)
    for node in (at_work, failed):
        await escalation.until_steps(node, "first")
        await escalation.report(node, "first", "False")
        await escalation.until_steps(node, "first", "second")
    before = await escalation.requests(at_work)

    await asyncio.gather(paramedic.worker.kill(), paramedic.detector.kill())
    # What a remediator reports while nobody looks is known afterwards.
    await escalation.report(failed, "second", "False")
    await paramedic.start()
    requests = await escalation.until_steps(failed, "first", "second", "third")
    assert timed_out(requests["second"])
    after = await escalation.requests(at_work)
    assert {step: _identity(request) for step, request in after.items()} == {
        step: _identity(request) for step, request in before.items()
    }

    # An escalation that has tried all its steps is told once, over any restart.
    await escalation.report(failed, "third", "False")
    await world.until_phase(failed, "Exhausted")
    await world.until(lambda: _is_told(world), "no Event says that no template is left")
    await asyncio.gather(paramedic.worker.kill(), paramedic.detector.kill())
    await paramedic.start()
    await escalation.report(at_work, "second", "False")
    await escalation.until_steps(at_work, "first", "second", "third")
    await world.until_phase(failed, "Exhausted")
    assert escalation.taken(failed) == ["first", "second", "third"]
    assert await _is_told(world)

    await world.recover(at_work, failed)
    for node in (at_work, failed):
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(at_work, failed)


def _identity(request: dict[str, dict[str, str]]) -> tuple[str, str]:
    return request["metadata"]["uid"], timed_out(request)


async def _is_told(world: World) -> bool:
    return [reason for _, reason, _ in await world.events()].count("NoTemplateLeft") == 1
