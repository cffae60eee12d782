"""An admission is valid for the question that asked for it, and for one step."""

import pytest

from health.model.admission import Admission
from health.model.moves import Phase
from health.model.observation import HoldReason
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.observations import expired, healthy, held
from tests.workflows.scenarios_of_steps import shadowed

pytestmark = pytest.mark.rule("rule 49")


def intents(incident: IncidentDriver) -> list[bool]:
    """For each question, if it asked to act."""
    return [asked.would_act for asked in incident.cluster.questions]


async def test_incident_that_leaves_shadow_takes_its_step_by_another_question(
    incident: IncidentDriver,
) -> None:
    await incident.start(shadowed(expired()))
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(expired().model_copy(update={"is_shadow": False}))
    await incident.happens("created")
    assert intents(incident)[-2:] == [False, True]
    assert [asked.admission for asked in incident.cluster.acts] == [Admission()]


async def test_resume_while_a_question_is_under_way_is_obeyed_by_another_question(
    incident: IncidentDriver,
) -> None:
    gate = incident.cluster.gates["observe"]
    await incident.start(held(HoldReason.BACK_OFF))
    await rests(incident, Phase.HELD)
    asked = len(incident.cluster.questions)
    gate.close()
    await incident.wake()
    await gate.entered.wait()
    await incident.resume()
    gate.open()
    await incident.happens("created")
    skips = [question.skips_back_off for question in incident.cluster.questions[asked:]]
    assert skips == [False, True]


async def test_request_that_is_lost_is_made_anew_by_another_question(incident: IncidentDriver) -> None:
    await incident.start(expired())
    await rests(incident, Phase.REMEDIATING)
    await incident.cluster.lose_requests()
    await incident.wake()
    await incident.happens("created", 2)
    await incident.sees(healthy())
