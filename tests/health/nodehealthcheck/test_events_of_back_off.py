"""The Event of a Node that waits for back-off, which the operator doesn't have (rule 14)."""

from dataclasses import replace

import pytest

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.model.observation import Hold, HoldReason
from objects.event import Severity
from tests.support.values.builders import expired, snapshot
from tests.support.values.reporter import Reporter

pytestmark = pytest.mark.rule("rule 14/event", "rule 15")

EXCLUDED = Hold(reason=HoldReason.EXCLUDED, message="it is excluded")


def held(which: str, due: str, earlier: int) -> TargetSnapshot:
    hold = Hold(reason=HoldReason.BACK_OFF, message=f"{which} remediation in a row, due at {due}")
    return replace(expired(), back_off=hold, earlier_attempts=earlier)


SECOND = held("2nd", "12:00:00Z", 1)
THIRD = held("3rd", "12:02:00Z", 2)


def skipped(reporter: Reporter, seen: CheckSnapshot) -> list[tuple[Severity, str, str]]:
    return [note for note in reporter.sees(seen) if note[1] == "RemediationSkipped"]


def test_node_in_back_off_is_reported_once_with_the_time_when_it_is_due() -> None:
    reporter = Reporter()
    words = (
        "[remediation] Skipped remediation of node: node-1, because of "
        "BackOff: 2nd remediation in a row, due at 12:00:00Z"
    )
    assert skipped(reporter, snapshot(SECOND)) == [(Severity.WARNING, "RemediationSkipped", words)]
    assert skipped(reporter, snapshot(SECOND)) == []
    reporter.restarts()
    assert skipped(reporter, snapshot(SECOND)) == []


def test_end_that_a_new_detector_knows_a_second_off_is_not_reported_again() -> None:
    reporter = Reporter()
    skipped(reporter, snapshot(SECOND))
    reporter.restarts()
    assert skipped(reporter, snapshot(held("2nd", "12:00:01Z", 1))) == []


def test_each_remediation_in_a_row_is_reported() -> None:
    reporter = Reporter()
    assert len(skipped(reporter, snapshot(SECOND))) == 1
    assert len(skipped(reporter, snapshot(THIRD))) == 1


def test_node_that_also_waits_for_something_else_is_reported_with_that_alone() -> None:
    (note,) = skipped(Reporter(), snapshot(replace(SECOND, hold=EXCLUDED)))
    assert "Exclude from Remediation" in note[2]
