"""FailedAnswer: what an incident is told when its answer could not be made: nobody knows, so it holds.

Whatever the cause is, it is the same a moment later; so the incident asks again after a minute, and earlier
only if something changes.
"""

from collections.abc import Callable

from detector.picture.picture import Picture
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import IncidentReference
from health.model.request_sight import RequestSight

ASK_AGAIN_SECONDS = 60.0
_LONGEST_PROBLEM = 200
"""Characters: an error may quote a whole object."""

Observe = Callable[[IncidentReference], Observation]


def never_failing(observe: Observe, picture: Picture) -> Observe:
    """`observe`, with a hold as the answer for an incident that it fails for."""

    def answer(incident: IncidentReference) -> Observation:
        with picture.guard.item("answers", incident.workflow_id) as caught:
            return observe(incident)
        return _failed(incident, picture, caught.error)

    return answer


def _failed(incident: IncidentReference, picture: Picture, error: Exception | None) -> Observation:
    problem = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_PROBLEM]
    message = f"the detector cannot judge {incident.target} by {incident.check}: {problem}"
    hold = Hold(reason=HoldReason.FAILED, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
    return Observation(
        state=TargetState.UNKNOWN,
        reason=str(incident.target),
        hold=hold,
        requests=_requests(incident, picture),
    )


def _requests(incident: IncidentReference, picture: Picture) -> tuple[RequestSight, ...]:
    with picture.guard.item("answers", incident.workflow_id):
        return tuple(entry.sight for entry in picture.own_requests(incident))
    return ()
