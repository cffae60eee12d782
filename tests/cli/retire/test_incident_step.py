"""The next step of `paramedic retire` for one incident."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cli.incidents.visibility import IncidentSummary
from cli.retire.workflows import IncidentAction, next_step
from health.model.moves import Phase
from health.model.order import Blocks, OrderRecord
from health.runbook.state import Memory
from tests.cli.retire.test_owned_objects import incident
from workflows.messages import State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SILENT = IncidentSummary(
    incident=incident(), run_id="run", status="Running", started=NOW, problem="no worker answers"
)
ORDER = OrderRecord(order="abort", reason="retired", given=NOW, blocks=Blocks.REMEDIATION)


def says(phase: Phase, **memory: Any) -> IncidentSummary:
    return replace(SILENT, problem="", state=State(phase=phase, details="", memory=Memory(**memory)))


@pytest.mark.parametrize(
    ("summary", "was_abort_sent", "action"),
    [
        (SILENT, False, IncidentAction.ABORT),
        (SILENT, True, IncidentAction.WAIT),
        (says(Phase.REMEDIATING), False, IncidentAction.ABORT),
        (says(Phase.REMEDIATING), True, IncidentAction.ABORT),  # a person's resume ended it
        (says(Phase.REMEDIATING, standing=(ORDER,)), True, IncidentAction.WAIT),
        (says(Phase.CLEANING_UP, standing=(ORDER,)), True, IncidentAction.WAIT),
        (says(Phase.CLEANING_UP, standing=(ORDER,), clean_up_at=NOW), True, IncidentAction.END),
        (says(Phase.LEFT_ALONE, standing=(ORDER,)), False, IncidentAction.END),
        (replace(SILENT, has_task_failures=True), False, IncidentAction.END),
    ],
)
def test_incident_is_ended_when_it_has_cleaned_up_or_cannot(
    summary: IncidentSummary, *, was_abort_sent: bool, action: IncidentAction
) -> None:
    step = next_step(summary, is_handed_over=False, has_worker=True, was_abort_sent=was_abort_sent)

    assert step.action is action


@pytest.mark.parametrize(("is_handed_over", "has_worker"), [(True, True), (True, False), (False, False)])
def test_incident_that_is_handed_over_or_has_no_worker_is_ended_as_it_is(
    *, is_handed_over: bool, has_worker: bool
) -> None:
    step = next_step(
        says(Phase.REMEDIATING), is_handed_over=is_handed_over, has_worker=has_worker, was_abort_sent=False
    )

    assert step.action is IncidentAction.END
