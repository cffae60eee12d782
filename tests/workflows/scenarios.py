"""What happens to incidents, one story each: `make histories` records them, and `make test` replays them.

A story is named after its file. A new behaviour is a new story; a story that changes gets a new name, because
incidents that began with the old one may still run.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from health.memory import Memory
from health.moves import Phase
from health.observation import HoldReason
from tests.workflows.incident import IncidentDriver
from tests.workflows.phases import Bring, act, adopt, be_held, be_refused, hang_on_a_finalizer, wait
from tests.workflows.settling import rests, settle
from tests.workflows.sights import FIVE_MINUTES, expired, gone, healthy, hold, released, unknown, waiting
from workflows.messages import AbortOrder, HoldOrder

Scenario = Callable[[IncidentDriver], Awaitable[None]]

MINUTE = timedelta(minutes=1)
TEN_MINUTES = 10 * MINUTE


async def begin(incident: IncidentDriver, bring: Bring) -> None:
    """Bring the incident somewhere, and let it settle there."""
    await bring(incident)
    await settle(incident)


async def recover(incident: IncidentDriver) -> None:
    """Let the story end: of a history's last commands nothing can tell whether they changed."""
    await incident.sees(healthy())
    await incident.outcome()


async def remediated(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    incident.cluster.sight = expired()
    await incident.pass_time(FIVE_MINUTES + MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def remediated_at_once(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await recover(incident)


async def recovered_before_the_deadline(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.pass_time(FIVE_MINUTES / 2)
    await recover(incident)


async def deadline_moved(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.sees(waiting(20 * MINUTE))
    await incident.happens("observe")
    incident.cluster.sight = expired()
    await incident.pass_time(21 * MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_then_admitted(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await incident.sees(expired())
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_and_asks_again_by_itself(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await incident.pass_time(40 * MINUTE)
    await incident.happens("observe")
    await rests(incident, Phase.HELD)
    await recover(incident)


async def held_blind_then_admitted(incident: IncidentDriver) -> None:
    await incident.start(unknown())
    await rests(incident, Phase.HELD)
    await incident.sees(expired())
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def act_refused_then_done(incident: IncidentDriver) -> None:
    await begin(incident, be_refused)
    await incident.look()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def act_refused_for_another_fact(incident: IncidentDriver) -> None:
    incident.cluster.refusals.append(hold(HoldReason.NOT_TRUE, timedelta()))
    await incident.start(expired())
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def lease_renewed(incident: IncidentDriver) -> None:
    await begin(incident, act)
    for times in (1, 2):
        await incident.pass_time(TEN_MINUTES + MINUTE / 2)
        await incident.happens("renew", times)
        await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_adopted(incident: IncidentDriver) -> None:
    await begin(incident, adopt)
    await recover(incident)


async def request_of_a_recovered_node(incident: IncidentDriver) -> None:
    incident.cluster.put_request()
    await incident.start(healthy())
    await incident.outcome()


async def request_removed_by_somebody(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.cluster.lose_requests()
    await incident.look()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_hangs_on_a_finalizer(incident: IncidentDriver) -> None:
    await begin(incident, hang_on_a_finalizer)
    await incident.pass_time(MINUTE + MINUTE / 2)
    await incident.happens("clean_up", 2)
    incident.cluster.remove_finalizer()
    await incident.look()
    await incident.outcome()


async def fails_again_during_the_clean_up(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await begin(incident, act)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.sees(expired())
    gate.open()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def gone_while_waiting(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.sees(gone())
    await incident.outcome()


async def gone_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(gone())
    await incident.outcome()


async def released_while_held(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await incident.sees(released())
    await incident.outcome()


async def released_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(released())
    await incident.outcome()


async def _abort_and_recover(incident: IncidentDriver) -> None:
    await incident.abort(AbortOrder(reason="power work"))
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def aborted_while_waiting(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await _abort_and_recover(incident)


async def aborted_while_held(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await _abort_and_recover(incident)


async def aborted_while_acting(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    aborting = await incident.sends(incident.abort())
    gate.open()
    await aborting
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def aborted_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await _abort_and_recover(incident)


async def aborted_while_cleaning_up(incident: IncidentDriver) -> None:
    await begin(incident, hang_on_a_finalizer)
    await incident.abort()
    incident.cluster.remove_finalizer()
    await incident.look()
    await incident.outcome()


async def aborted_without_a_detector(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["observe"]
    await begin(incident, act)
    gate.close()
    await incident.look()
    await gate.entered.wait()
    await incident.abort()
    await incident.happens("clean_up")
    await incident.reaches(Phase.LEFT_ALONE)
    gate.open()
    await recover(incident)


async def aborted_for_a_time(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.abort(AbortOrder(reason="power work", for_seconds=600))
    await rests(incident, Phase.LEFT_ALONE)
    await incident.sees(expired())
    await incident.pass_time(TEN_MINUTES + MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def aborted_and_resumed(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.abort()
    await rests(incident, Phase.LEFT_ALONE)
    await incident.resume()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def aborted_and_resumed_by_signal(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.handle.signal("abort", AbortOrder(reason="power work"))
    await rests(incident, Phase.LEFT_ALONE)
    await incident.handle.signal("resume")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_by_a_person(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.hold(HoldOrder(reason="disk swap"))
    await rests(incident, Phase.HELD)
    await incident.sees(expired())
    await incident.happens("observe")
    await incident.resume()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def held_by_a_person_while_remediating(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.hold(HoldOrder(reason="disk swap"))
    await incident.tells("disk swap")
    await incident.pass_time(TEN_MINUTES + MINUTE)
    await incident.happens("renew")
    await recover(incident)


async def held_by_a_person_for_a_time(incident: IncidentDriver) -> None:
    await begin(incident, be_held)
    await incident.hold(HoldOrder(reason="disk swap", for_seconds=600))
    await incident.tells("disk swap")
    await incident.sees(expired())
    await incident.pass_time(TEN_MINUTES + MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def cancelled_while_waiting(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    await incident.handle.cancel()
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def cancelled_while_acting(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["act"]
    gate.close()
    await incident.start(expired())
    await gate.entered.wait()
    await incident.handle.cancel()
    await incident.look()
    gate.open()
    await rests(incident, Phase.LEFT_ALONE)
    await recover(incident)


async def cancelled_while_cleaning_up(incident: IncidentDriver) -> None:
    gate = incident.cluster.gates["clean_up"]
    await begin(incident, act)
    gate.close()
    await incident.sees(healthy())
    await gate.entered.wait()
    await incident.handle.cancel()
    gate.open()
    await incident.outcome()


async def carried_on_from_an_earlier_run(incident: IncidentDriver) -> None:
    request = incident.cluster.put_request()
    await incident.carry_on(
        Memory(requests=(request.reference,), has_acted=True, may_hold_lease=True), expired()
    )
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def continued_as_new(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.wake_until_continued()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__.replace("_", "-"): scenario
    for scenario in (
        remediated,
        remediated_at_once,
        recovered_before_the_deadline,
        deadline_moved,
        held_then_admitted,
        held_and_asks_again_by_itself,
        held_blind_then_admitted,
        act_refused_then_done,
        act_refused_for_another_fact,
        lease_renewed,
        request_adopted,
        request_of_a_recovered_node,
        request_removed_by_somebody,
        request_hangs_on_a_finalizer,
        fails_again_during_the_clean_up,
        gone_while_waiting,
        gone_while_remediating,
        released_while_held,
        released_while_remediating,
        aborted_while_waiting,
        aborted_while_held,
        aborted_while_acting,
        aborted_while_remediating,
        aborted_while_cleaning_up,
        aborted_without_a_detector,
        aborted_for_a_time,
        aborted_and_resumed,
        aborted_and_resumed_by_signal,
        held_by_a_person,
        held_by_a_person_while_remediating,
        held_by_a_person_for_a_time,
        cancelled_while_waiting,
        cancelled_while_acting,
        cancelled_while_cleaning_up,
        carried_on_from_an_earlier_run,
    )
}
LONG_SCENARIOS: dict[str, Scenario] = {"continued-as-new": continued_as_new}
"""Recorded on a server that finds a history long after a few dozen events."""
