"""IncidentStep: what retiring does next to one open incident. Pure.

The first row that fits wins:

| what is so                                    | next                                                       |
|-----------------------------------------------|------------------------------------------------------------|
| all is handed over                            | ended: requests and Leases stay for the operators          |
| no worker polls, or its code fails            | ended: it could not obey; what is its own is removed here  |
| it was not told to abort, as far as one knows | told so                                                    |
| nobody knows whether it obeyed                | waited for                                                 |
| it is left alone, or tried to clean up        | ended: what hangs after that is waited for here            |
| else                                          | waited for                                                 |

Ended is terminated, and only while none of its activities is at work, or about to be: so nothing of it comes
afterwards. Of a worker that was killed in the middle of one, Temporal gives that up after a while.
"""

from dataclasses import dataclass
from enum import StrEnum

from cli.incident_summary import IncidentSummary
from health.model.moves import Phase


class Action(StrEnum):
    """What is done to an incident."""

    ABORT = "abort"
    END = "end"
    WAIT = "wait"


@dataclass(frozen=True)
class IncidentStep:
    """It, and why."""

    action: Action
    why: str


def next_step(
    summary: IncidentSummary, *, is_handed_over: bool, has_worker: bool, was_told: bool
) -> IncidentStep:
    """The next step; `was_told`: to abort, by this command."""
    if is_handed_over:
        return IncidentStep(Action.END, "what exists is left to the operators")
    if not has_worker:
        return IncidentStep(Action.END, "no worker is there that could clean up")
    if summary.has_task_failures:
        return IncidentStep(Action.END, "its code fails, so it cannot clean up")
    if summary.state is None:
        problem = IncidentStep(Action.WAIT, summary.problem)
        return problem if was_told else IncidentStep(Action.ABORT, "so that it cleans up")
    if summary.state.memory.left_alone is None:
        return IncidentStep(Action.ABORT, "so that it cleans up")
    if summary.state.phase == Phase.LEFT_ALONE or summary.state.memory.clean_up_at is not None:
        return IncidentStep(Action.END, "it has cleaned up")
    return IncidentStep(Action.WAIT, f"{summary.state.phase}: {summary.details}")
