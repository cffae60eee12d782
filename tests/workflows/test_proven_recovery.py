"""A node that is healthy after a step must show another boot, and stay healthy for a time."""

from datetime import timedelta

from health.check.same_boot import SAME_BOOT
from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import REAL_TIME, pass_until, rests
from tests.support.values.builders import NOW, fact
from tests.support.values.observations import ESCALATION, escalating, healthy

MINUTE = timedelta(minutes=1)
A_BIT = timedelta(seconds=2)
TIME = 5 * MINUTE
OLD, NEW = "boot-1", "boot-2"


def asks_for_a_proof(observation: Observation, boot_id: str) -> Observation:
    """An observation of an escalation whose check requires proof, for a node with that boot ID."""
    says = {"proven_recovery_seconds": TIME.total_seconds(), "boot_id": boot_id, "steps": ESCALATION}
    return observation.model_copy(update=says)


def well(boot_id: str) -> Observation:
    told = asks_for_a_proof(healthy(), boot_id)
    says = {"subject": "Node/node-1", "reason": "healthy", "fact": fact(NOW, boot_id, SAME_BOOT)}
    return told.model_copy(update=says)


async def test_node_that_did_not_boot_gets_its_next_step_and_one_that_did_is_kept_for_the_time_over_a_restart(
    bare_incident: IncidentDriver,
) -> None:
    incident = bare_incident
    async with incident.detector():
        async with incident.worker():
            await incident.start(asks_for_a_proof(escalating(), OLD))
            await rests(incident, Phase.REMEDIATING)
            await incident.sees(well(OLD))
            state = await rests(incident, Phase.REMEDIATING)
            assert "but its boot ID boot-1 is the same as before the step" in state.details
            first = incident.cluster.request_of("first")
            await pass_until(incident, first.created + TIME + A_BIT)
            await incident.happens("created", 2)
            assert incident.cluster.acts[-1].fact.condition == SAME_BOOT

            await incident.sees(well(NEW))
            state = await rests(incident, Phase.HEALTHY_DELAY)
            assert "healthy with a new boot ID since" in state.details
            since = state.memory.recovery.healthy_since
            assert since is not None
        await incident.pass_time(MINUTE / 2)
        async with incident.worker():
            await pass_until(incident, since + TIME - REAL_TIME)
            assert incident.cluster.count("clean_up") == 0
            await pass_until(incident, since + TIME + A_BIT)
            assert await incident.outcome() is Outcome.REMEDIATED
    assert incident.cluster.times("clean_up")[0] >= since + TIME
    assert incident.cluster.tried == ["first", "second"]
    assert not incident.cluster.requests
