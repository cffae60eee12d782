"""Incidents as a command sees them, made of values: no server is asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from cli.incidents.document import IncidentDocument, incident_document
from cli.incidents.visibility import IncidentSummary
from health.model.details import Details
from health.model.incident_result import IncidentResult
from health.model.moves import Outcome, Phase
from health.model.observation import Observation
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move
from health.runbook.state import Memory
from tests.support.values.builders import INCIDENT, NOW, seen
from workflows.messages import State

CONDITION = "Ready is Unknown since 2026-03-01T12:00:00Z, longer than 5m"
SUBJECT = str(INCIDENT.target)
UNHEALTHY = Details(subject=SUBJECT, reason=CONDITION)
NOTHING_DONE = Memory()


def unhealthy(*requests: RequestSnapshot, **fields: Any) -> Observation:
    """The detector's observation of an unhealthy target."""
    return seen(*requests, subject=SUBJECT, reason=CONDITION, answered_at=NOW, **fields)


def state(
    phase: Phase, why: Details, observation: Observation | None = None, memory: Memory = NOTHING_DONE
) -> State:
    found = observation or unhealthy()
    return State(
        phase=phase,
        details=str(why),
        why=why,
        requests=found.requests,
        observation=found,
        memory=memory,
        wakes_at=NOW + timedelta(minutes=30),
        next_transition=next_move(found, memory, NOW).next_transition,
    )


def summary(of: State | None, node: str = "node-1") -> IncidentSummary:
    """An open incident that began two hours ago."""
    target = INCIDENT.target.model_copy(update={"name": node})
    incident = INCIDENT.model_copy(update={"target": target})
    return IncidentSummary(
        incident=incident, run_id="run", status="Running", started=NOW - timedelta(hours=2), state=of
    )


def document(
    of: IncidentSummary, name: str | None = "node-1", command: str = "paramedic"
) -> IncidentDocument:
    """The document of an incident at NOW, which a person calls `name`."""
    return incident_document(of, NOW, name=name, command=command)


def ended(outcome: Outcome = Outcome.RECOVERED, **fields: Any) -> IncidentSummary:
    """An incident that began two hours ago and has just ended, with these fields of its result."""
    open_ = summary(None)
    values = {"reason": f"{SUBJECT} is healthy", "started": open_.started, "ended": NOW, **fields}
    result = IncidentResult(outcome=outcome, **values)
    return replace(open_, status="Completed", closed=NOW, result=result)
