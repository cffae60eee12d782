"""RequestCourse: where a request stands among the steps of its check, and until when it has time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from health.model.request_sight import RequestSight
from health.runbook.escalation import Plan
from workflows.messages import State


@dataclass(frozen=True)
class RequestCourse:
    """One request, as far as the detector knew its check when it was asked last."""

    request: RequestSight
    step: int | None
    """Counted from 1; None: unknown, or the check no longer lists its template."""
    steps: int | None
    """Of how many; None: unknown, as of a target that is healthy again."""
    times_out_at: datetime | None
    """When its step times out, or did; None for a step without a timeout."""

    @classmethod
    def of(cls, request: RequestSight, state: State) -> Self:
        """The course of one request of an incident."""
        plan = Plan(state.observation.steps if state.observation else ())
        step = plan.step_of(request.reference)
        number = None if step is None else list(plan.steps).index(step) + 1
        return cls(request, number, len(plan.steps) or None, plan.end_of(request))

    @property
    def place(self) -> str:
        """Which step it is of, for people; "" where that is unknown."""
        return f"step {self.step} of {self.steps}" if self.step else ""
