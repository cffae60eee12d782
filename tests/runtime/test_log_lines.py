"""Log lines: one JSON object each, with the keys of the incident, and bounded values."""

import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from health.model.references import workflow_id_of
from runtime.guard import Guard
from runtime.process import LONGEST_VALUE, JsonFormatter, incident_keys

CHECK = "machinehealthchecks.machine.openshift.io/machines/workers"
WORKFLOW_ID = f"remediation/prod-1a2b3c4d/{CHECK}/m-1/12345678"
INCIDENT = {"workflow_id": WORKFLOW_ID, "check": CHECK, "target": "m-1"}
log = logging.getLogger(__name__)


@pytest.fixture
def written() -> Iterator[StringIO]:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


def only(written: StringIO) -> dict[str, Any]:
    (text,) = written.getvalue().splitlines()
    line: dict[str, Any] = json.loads(text)
    return line


def about_incident(line: dict[str, Any]) -> dict[str, Any]:
    return {key: line.get(key) for key in INCIDENT}


async def test_line_of_any_logger_in_an_activity_names_its_incident(written: StringIO) -> None:
    async def work() -> None:
        log.warning("refused", extra={"reason": "no"})

    environment = ActivityEnvironment()
    environment.info = replace(environment.info, workflow_id=WORKFLOW_ID, activity_type="act", attempt=2)
    await environment.run(work)
    line = only(written)
    assert about_incident(line) == INCIDENT
    assert (line["level"], line["message"], line["reason"]) == ("warning", "refused", "no")
    assert (line["activity"], line["attempt"]) == ("act", 2)


def test_guard_names_the_incident_that_failed(written: StringIO) -> None:
    with Guard().item("answers", WORKFLOW_ID):
        raise ValueError("broken")
    line = only(written)
    assert about_incident(line) == INCIDENT
    assert "ValueError: broken" in line["error"]


def test_guard_names_an_incident_whose_id_is_cut(written: StringIO) -> None:
    long = WORKFLOW_ID.replace("m-1", "m" * 253)
    with Guard().item("answers", long):
        raise ValueError("broken")
    assert about_incident(only(written)) == {
        "workflow_id": workflow_id_of(long),
        "check": CHECK,
        "target": "m" * 253,
    }


def test_guard_names_no_incident_for_another_item(written: StringIO) -> None:
    with Guard().item("status", "workers"):
        raise ValueError("broken")
    assert about_incident(only(written)) == dict.fromkeys(INCIDENT)


def test_upgrade_pause_has_a_workflow_id_alone() -> None:
    assert incident_keys("upgrade/prod-1a2b3c4d") == {"workflow_id": "upgrade/prod-1a2b3c4d"}


def test_value_of_others_stays_in_its_line_and_is_bounded(written: StringIO) -> None:
    hostile = "\x1b[31mred\r\nlevel=error\x00\u2028\ud800"
    extra = {"reason": hostile + "x" * 10 * LONGEST_VALUE + "end", "level": "critical", "count": 7}
    log.warning("refused", extra=extra)
    text = written.getvalue()
    line = only(written)
    assert text.isascii()
    assert not {"\x1b", "\r", "\x00"} & set(text)
    assert len(line["reason"]) == LONGEST_VALUE
    assert line["reason"].startswith(hostile)
    assert line["reason"].endswith("xend")
    assert (line["level"], line["count"]) == ("warning", 7), "a value replaces no key of ours"


def test_long_traceback_keeps_the_error_at_its_end(written: StringIO) -> None:
    def deep(depth: int) -> None:
        if depth:
            deep(depth - 1)
        raise ValueError("at the bottom")

    try:
        deep(sys.getrecursionlimit() // 2)
    except ValueError:
        log.exception("failed")
    assert only(written)["error"].endswith("ValueError: at the bottom")
