import pytest
from pydantic_core import to_json

from health.model.moves import Outcome, Phase
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired, healthy
from tests.workflows.phases import Bring, act, be_held, hang_on_a_finalizer, wait
from tests.workflows.settling import settle
from workflows.messages import HoldOrder

IN_PHASES = [
    pytest.param(wait, Phase.WAITING, "Ready is False", id="waiting"),
    pytest.param(be_held, Phase.HELD, "Threshold: not now (asks again in 30m)", id="held"),
    pytest.param(act, Phase.REMEDIATING, "Reboot/ns/node-1 exists", id="remediating"),
    pytest.param(
        hang_on_a_finalizer, Phase.CLEANING_UP, "Reboot/ns/node-1 hangs on a finalizer", id="cleaning-up"
    ),
]


@pytest.mark.parametrize(("bring", "phase", "words"), IN_PHASES)
async def test_state_and_details_say_where_the_incident_is(
    incident: IncidentDriver, bring: Bring, phase: Phase, words: str
) -> None:
    await bring(incident)
    state = await incident.state()
    assert state.phase is phase
    assert words in state.details
    assert state.outcome is None
    details = await incident.details()
    assert words in details
    assert phase in details


async def test_state_that_is_asked_while_an_act_is_in_flight_says_so(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    assert (await incident.state()).phase is Phase.ACTING
    gate.open()
    state = await incident.reaches(Phase.REMEDIATING)
    assert len(state.requests) == 1


async def test_state_can_be_asked_after_the_end(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.RECOVERED
    state = await incident.state()
    assert (state.phase, state.outcome) == (Phase.ENDED, Outcome.RECOVERED)


async def test_details_say_whom_an_incident_waits_for_when_no_detector_answers(
    bare_incident: IncidentDriver,
) -> None:
    async with bare_incident.worker():
        await wait(bare_incident)
        await bare_incident.wake()
        assert f"paramedic-{bare_incident.name}-detector" in await bare_incident.details()


async def test_incident_is_described_by_node_and_check(incident: IncidentDriver) -> None:
    await wait(incident)
    description = await incident.handle.describe()
    assert await description.static_summary() == "node-1: NodeHealthCheck/workers"
    assert "Ready is False" in (await description.static_details() or "")


async def test_every_activity_and_timer_says_what_it_is_for(incident: IncidentDriver) -> None:
    await wait(incident)
    await incident.sees(expired())
    await incident.reaches(Phase.REMEDIATING)
    await incident.sees(healthy())
    await incident.outcome()
    summaries = await incident.summaries()
    assert len(summaries) >= 6
    assert all("node-1" in summary for summary in summaries)


@pytest.mark.parametrize("letter", ["x", "ü", "🔥", '"'])
async def test_words_that_are_too_long_for_temporal_are_cut_visibly_behind_the_reason_of_a_hold(
    incident: IncidentDriver, letter: str
) -> None:
    await act(incident)
    await incident.hold(HoldOrder(reason=letter * 1000))
    await settle(incident)
    timer = (await incident.summaries())[-1]
    assert timer.startswith(f"Remediating: held by a person: {letter}")
    assert timer.endswith(f"{letter}…")
    assert 340 < len(to_json(timer)) <= 350
