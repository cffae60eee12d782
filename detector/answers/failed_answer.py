"""FailedAnswer: what an incident is told when its answer could not be made: nobody knows, so it holds.

Whatever the cause is, it is the same a moment later; so the incident asks again after a minute, and earlier
only if something changes.
"""

from collections.abc import Callable

from detector.state.cluster_state import ClusterState
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import IncidentReference
from health.model.request_snapshot import RequestSnapshot

ASK_AGAIN_SECONDS = 60.0
_LONGEST_PROBLEM = 200
"""Characters: an error may quote a whole object."""

Observe = Callable[[IncidentReference], Observation]


def never_failing(observe: Observe, cluster_state: ClusterState) -> Observe:
    """`observe`, with a hold as the answer for an incident that it fails for."""

    def answer(incident: IncidentReference) -> Observation:
        with cluster_state.guard.item("answers", incident.workflow_id) as caught:
            return observe(incident)
        return _failed(incident, cluster_state, caught.error)

    return answer


def _failed(incident: IncidentReference, cluster_state: ClusterState, error: Exception | None) -> Observation:
    problem = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_PROBLEM]
    message = f"the detector cannot judge {incident.target} by {incident.check}: {problem}"
    hold = Hold(reason=HoldReason.FAILED, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
    return Observation(
        state=TargetState.UNKNOWN,
        reason=str(incident.target),
        hold=hold,
        requests=_requests(incident, cluster_state),
    )


def _requests(incident: IncidentReference, cluster_state: ClusterState) -> tuple[RequestSnapshot, ...]:
    with cluster_state.guard.item("answers", incident.workflow_id):
        return tuple(entry.snapshot for entry in cluster_state.own_requests(incident))
    return ()
