"""Incidents whose step deletes or marks the target itself: no request is created, and no step is repeated."""

import pytest

from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.model.references import Action, Step
from tests.support.story.incident import IncidentDriver
from tests.support.story.settling import rests
from tests.support.values.observations import escalating, expired, healthy

DELETE, MARK = Step(action=Action.DELETE), Step(action=Action.MARK)


def deleting() -> Observation:
    return escalating(expired(), DELETE)


@pytest.mark.rule("rule 28")
async def test_mark_that_its_consumer_took_off_in_vain_is_set_again(incident: IncidentDriver) -> None:
    marked = escalating(expired(), MARK)
    says = {"under_way": "marked for external remediation", "is_marked": True}
    under_way = marked.model_copy(update=says)
    await incident.start(marked)
    await incident.happens("Mark of the target")
    await incident.sees(under_way)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(marked)
    await incident.happens("Mark of the target", 2)
    await incident.sees(under_way)
    await rests(incident, Phase.REMEDIATING)
    await incident.sees(healthy())
    assert await incident.outcome() is Outcome.REMEDIATED
