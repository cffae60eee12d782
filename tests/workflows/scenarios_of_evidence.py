"""Scenarios of evidence that is saved before the first step, or is not."""

from datetime import timedelta

from health.model.evidence import EvidenceStore
from health.model.moves import Phase
from health.model.observation import HoldReason, Observation
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.observations import escalating, hold
from tests.workflows.stories import MINUTE, recover
from workflows.contracts import SAVE_EVIDENCE


def wanted() -> Observation:
    """An observation under a check that wants evidence as ConfigMaps."""
    return escalating().model_copy(update={"evidence": EvidenceStore.CONFIG_MAP})


async def evidence_saved_once_for_two_steps(incident: IncidentDriver) -> None:
    await incident.start(wanted())
    await rests(incident, Phase.REMEDIATING)
    await incident.pass_time(5 * MINUTE + MINUTE)
    await incident.happens("created", 2)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def evidence_that_cannot_be_saved(incident: IncidentDriver) -> None:
    incident.cluster.failing[SAVE_EVIDENCE.name] = 99
    await incident.start(wanted())
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


async def evidence_held_and_saved_later(incident: IncidentDriver) -> None:
    incident.cluster.refusals.append(hold(HoldReason.NOT_TRUE, timedelta(seconds=2)))
    await incident.start(wanted())
    await rests(incident, Phase.HELD)
    await incident.pass_time(MINUTE)
    await rests(incident, Phase.REMEDIATING)
    await recover(incident)


SCENARIOS = (
    evidence_saved_once_for_two_steps,
    evidence_that_cannot_be_saved,
    evidence_held_and_saved_later,
)
