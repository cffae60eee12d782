"""One scenario each for incidents: `make histories` records them, and `make test` replays them.

The history file has the name of the scenario. A new behaviour is a new scenario; a changed scenario gets a
new name, because incidents that began with the old one may still run.
"""

import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from inspect import iscoroutinefunction
from types import ModuleType

from health.model.moves import Phase
from health.model.observation import HoldReason
from health.runbook.state import Memory
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act, adopt, be_held, be_refused, hang_on_a_finalizer, wait
from tests.support.story.settling import rests
from tests.support.values.memories import HELD_LEASE
from tests.support.values.observations import (
    FIVE_MINUTES,
    expired,
    gone,
    healthy,
    hold,
    released,
    unknown,
    waiting,
)
from tests.workflows import scenarios_of_orders, scenarios_of_requests, scenarios_of_steps
from tests.workflows.stories import MINUTE, begin, recover

Scenario = Callable[[IncidentDriver], Awaitable[None]]


async def remediated(incident: IncidentDriver) -> None:
    await begin(incident, wait)
    incident.cluster.observation = expired()
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
    incident.cluster.observation = expired()
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
    await incident.wake()
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
        await incident.pass_time(10 * MINUTE + MINUTE / 2)
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
    await incident.wake()
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_hangs_on_a_finalizer(incident: IncidentDriver) -> None:
    await begin(incident, hang_on_a_finalizer)
    await incident.pass_time(MINUTE + MINUTE / 2)
    await incident.happens("clean_up", 2)
    incident.cluster.remove_finalizer()
    await incident.wake()
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


async def carried_on_from_an_earlier_run(incident: IncidentDriver) -> None:
    request = incident.cluster.put_request()
    await incident.carry_on(
        Memory(requests=(request.reference,), has_acted=True, lease=HELD_LEASE), expired()
    )
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def continued_as_new(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.wake_until_continued()
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def lease_renewed_without_a_detector(incident: IncidentDriver) -> None:
    async with incident.worker():
        async with incident.detector():
            await begin(incident, act)
            await incident.pass_time(10 * MINUTE - timedelta(seconds=1))
            await rests(incident, Phase.REMEDIATING)
        await incident.wake()
        await incident.happens("renew")
        async with incident.detector():
            await incident.happens("answered", 2)
            await rests(incident, Phase.REMEDIATING)
            await recover(incident)


async def recovered_before_a_worker_ran(incident: IncidentDriver) -> None:
    """A worker that is killed during an act leaves the same history."""
    await incident.start(expired())
    await incident.sees(healthy())
    async with incident.detector(), incident.worker():
        await incident.outcome()


def _of(*modules: ModuleType) -> dict[str, Scenario]:
    """The scenarios of these modules: each coroutine function without a leading underscore that is there."""
    return {
        name.replace("_", "-"): value
        for module in modules
        for name, value in vars(module).items()
        if iscoroutinefunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


SCENARIOS = _of(sys.modules[__name__], scenarios_of_orders, scenarios_of_requests, scenarios_of_steps)


def _taken(*names: str) -> dict[str, Scenario]:
    return {name: SCENARIOS.pop(name) for name in names}


LONG_SCENARIOS = _taken("continued-as-new", "continued-as-new-in-the-second-step")
"""Recorded on a server that suggests to continue as new after a few dozen events."""
BARE_SCENARIOS = _taken("lease-renewed-without-a-detector", "recovered-before-a-worker-ran")
"""They start and stop detector and worker themselves."""
