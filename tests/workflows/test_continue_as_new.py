from health.model.moves import Outcome, Phase
from health.runbook.memory import Memory
from tests.health.steps import HELD_LEASE
from tests.workflows.incident import IncidentDriver
from tests.workflows.observations import expired, healthy, held
from workflows.messages import AbortOrder, HoldOrder

POWER_WORK = AbortOrder(reason="power work", for_seconds=3600)


async def test_incident_that_was_woken_very_often_goes_on_in_a_new_run(long_incident: IncidentDriver) -> None:
    await long_incident.start(expired())
    before = await long_incident.reaches(Phase.REMEDIATING)
    await long_incident.wake_until_continued()
    after = await long_incident.reaches(Phase.REMEDIATING)
    assert after.requests == before.requests
    assert long_incident.cluster.count("act") == 1
    await long_incident.sees(healthy())
    assert await long_incident.outcome() is Outcome.REMEDIATED


async def test_order_is_kept_over_runs(long_incident: IncidentDriver) -> None:
    await long_incident.start(expired())
    await long_incident.reaches(Phase.REMEDIATING)
    await long_incident.abort(POWER_WORK)
    await long_incident.reaches(Phase.LEFT_ALONE)
    await long_incident.wake_until_continued()
    assert "power work" in (await long_incident.reaches(Phase.LEFT_ALONE)).details
    await long_incident.resume()
    await long_incident.reaches(Phase.REMEDIATING)
    assert long_incident.cluster.count("created") == 2


async def test_hold_is_kept_over_runs(long_incident: IncidentDriver) -> None:
    await long_incident.start(held())
    await long_incident.hold(HoldOrder(reason="disk swap"))
    await long_incident.wake_until_continued()
    assert "disk swap" in (await long_incident.reaches(Phase.HELD)).details
    long_incident.cluster.observation = expired()
    await long_incident.resume()
    await long_incident.reaches(Phase.REMEDIATING)


async def test_new_run_keeps_what_the_cluster_does_not_show(incident: IncidentDriver) -> None:
    request = incident.cluster.put_request()
    incident.cluster.requests.clear()
    memory = Memory(requests=(request.reference,), has_acted=True, lease=HELD_LEASE)
    await incident.carry_on(memory, healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.count("clean_up") == 1


async def test_new_run_asks_before_it_does_anything(incident: IncidentDriver) -> None:
    await incident.carry_on(Memory(), held())
    await incident.reaches(Phase.HELD)
    assert [entry.what for entry in incident.cluster.log] == ["observe", "answered"]
