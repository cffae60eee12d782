"""IncidentStep: what `paramedic retire` does next to one open incident. Pure.

The first row that fits wins:

| state                                        | next step                                                   |
|----------------------------------------------|-------------------------------------------------------------|
| handed over                                  | end: requests and Leases stay for the operators             |
| no worker polls, or its workflow task fails  | end: it cannot obey; `retire` removes its objects           |
| no order to abort is known                   | abort                                                       |
| it is unknown whether it obeyed              | wait                                                        |
| it is left alone, or has tried to clean up   | end: `retire` waits for objects that remain                 |
| else                                         | wait                                                        |

To end means to terminate, and only while none of its activities runs or is scheduled, so that none of them
acts later. Temporal times out the activity of a killed worker after a while.
"""

from dataclasses import dataclass
from enum import StrEnum

from cli.incidents.summary import IncidentSummary
from health.model.moves import Phase


class IncidentAction(StrEnum):
    """The action of `retire` on an incident in one round."""

    ABORT = "abort"
    END = "end"
    WAIT = "wait"


@dataclass(frozen=True)
class IncidentStep:
    """The action on an incident, with the reason in words."""

    action: IncidentAction
    why: str


def next_step(
    summary: IncidentSummary, *, is_handed_over: bool, has_worker: bool, was_abort_sent: bool
) -> IncidentStep:
    """The next step; `was_abort_sent`: this command has sent `abort` already."""
    if is_handed_over:
        return IncidentStep(IncidentAction.END, "what exists is left to the operators")
    if not has_worker:
        return IncidentStep(IncidentAction.END, "no worker is there that could clean up")
    if summary.has_task_failures:
        return IncidentStep(IncidentAction.END, "its code fails, so it cannot clean up")
    if summary.state is None:
        problem = IncidentStep(IncidentAction.WAIT, summary.problem)
        return problem if was_abort_sent else IncidentStep(IncidentAction.ABORT, "so that it cleans up")
    if summary.state.memory.left_alone is None:
        return IncidentStep(IncidentAction.ABORT, "so that it cleans up")
    if summary.state.phase == Phase.LEFT_ALONE or summary.state.memory.clean_up_at is not None:
        return IncidentStep(IncidentAction.END, "it has cleaned up")
    return IncidentStep(IncidentAction.WAIT, f"{summary.state.phase}: {summary.details}")
