"""Messages of a Remediation: its input, the orders that people send, and the answer to the query `state`.

One input object each, with defaults, so that the Temporal UI (which sends one JSON value) can send them.
"""

from datetime import timedelta

from pydantic import Field

from health.frozen import Frozen
from health.next_move import Memory, Outcome, Phase
from health.observation import Observation
from health.references import IncidentReference, RequestReference

WORKFLOW = "Remediation"
LOOK = "look"
"""The one signal of the detector: the answer for this incident changed."""
LONGEST_ABORT = timedelta(days=366)
"""A time that no calendar can hold would stop the workflow; without a time an abort is for good."""


class RemediationInput(Frozen):
    """Starts an incident, or carries it on in a new run."""

    incident: IncidentReference
    observation: Observation | None = None
    """What the detector saw when it started the incident; used while it is fresh."""
    memory: Memory = Memory()


class AbortOrder(Frozen):
    """Clean up and leave the target alone: until it has recovered, for a time, or until `resume`."""

    reason: str = "abort was ordered"
    for_seconds: float | None = Field(default=None, gt=0, le=LONGEST_ABORT.total_seconds())


class ResumeOrder(Frozen):
    """Take care of the target again, at once."""

    reason: str = "resume was ordered"


class State(Frozen):
    """Answer to the query `state`."""

    phase: Phase
    details: str
    outcome: Outcome | None = None
    requests: tuple[RequestReference, ...] = ()
    observation: Observation | None = None
