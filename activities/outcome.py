"""Outcome: what an attempt came to: the answer to the incident, and what is to be told of the target."""

from dataclasses import dataclass

from health.model.event import Event
from workflows.contracts import ActResult


@dataclass(frozen=True)
class StepResult:
    """The answer, with its news."""

    result: ActResult
    news: Event | None = None
