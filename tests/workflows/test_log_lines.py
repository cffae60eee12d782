"""The log lines of an incident's workflow."""

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from health.model.moves import Phase
from runtime.process import JsonFormatter
from tests.support.story.incident import IncidentDriver
from tests.support.values.observations import waiting


@pytest.fixture
def written() -> Iterator[StringIO]:
    stream, logger = StringIO(), logging.getLogger("temporalio.workflow")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


async def test_each_move_of_an_incident_is_a_line_with_its_keys(
    incident: IncidentDriver, written: StringIO
) -> None:
    await incident.start(waiting())
    await incident.reaches(Phase.WAITING)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    line = next(one for one in lines if one["workflow_id"] == incident.handle.id)
    assert line["message"].startswith("incident moves on")
    assert line["phase"] == "Waiting"
    assert line["check"] == str(incident.reference.check)
    assert line["target"] == incident.reference.target.name
    assert line["run_id"]
