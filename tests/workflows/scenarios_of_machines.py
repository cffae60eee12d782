"""Scenarios of Machines: a step that deletes or marks them, a request that is kept until they are fit."""

from health.model.moves import Phase
from health.model.observation import Observation
from health.model.references import Action, Step
from tests.support.story.incident import IncidentDriver
from tests.support.story.phases import act
from tests.support.story.settling import rests
from tests.support.values.observations import escalating, expired, gone, healthy
from tests.workflows.stories import MINUTE, begin, recover

DELETING = escalating(expired(), Step(action=Action.DELETE))
MARKING = escalating(expired(), Step(action=Action.MARK))
UNDER_WAY = "marked for external remediation"


def _marked(observation: Observation) -> Observation:
    return observation.model_copy(update={"under_way": UNDER_WAY, "is_marked": True})


async def machine_deleted(incident: IncidentDriver) -> None:
    await incident.start(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(gone())
    await incident.outcome()


async def deleted_machine_hangs_on_a_finalizer(incident: IncidentDriver) -> None:
    await incident.start(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(DELETING)
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(11 * MINUTE)
    await incident.happens("renew")
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(gone())
    await incident.outcome()


async def answer_of_a_deletion_lost(incident: IncidentDriver) -> None:
    incident.cluster.failing["act"] = 1
    await incident.start(DELETING)
    await rests(incident, Phase.HELD)
    await incident.sees(gone())
    await incident.outcome()


async def machine_marked(incident: IncidentDriver) -> None:
    await incident.start(MARKING)
    await incident.happens("Mark of the target")
    await incident.sees(_marked(MARKING))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def mark_taken_off_in_vain(incident: IncidentDriver) -> None:
    limited = MARKING.model_copy(update={"back_off_limit_seconds": 1800})
    await incident.start(limited)
    await incident.happens("Mark of the target")
    await incident.sees(_marked(limited))
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(limited)
    await rests(incident, Phase.HELD)
    await incident.pass_time(MINUTE + MINUTE / 10)
    await incident.happens("Mark of the target", 2)
    await incident.sees(_marked(limited))
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def request_kept_until_its_machine_is_fit(incident: IncidentDriver) -> None:
    await begin(incident, act)
    await incident.sees(healthy().model_copy(update={"counts_as_healthy": False}))
    await incident.tells("does not count as healthy yet")
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


SCENARIOS = (
    machine_deleted,
    deleted_machine_hangs_on_a_finalizer,
    answer_of_a_deletion_lost,
    machine_marked,
    mark_taken_off_in_vain,
    request_kept_until_its_machine_is_fit,
)
