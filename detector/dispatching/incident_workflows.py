"""IncidentWorkflows: which incidents should be open, and when an open one has to be woken.

There should be one incident for each unhealthy target, and one for each request of ours, so that the request
of a terminated workflow is removed too. An unhealthy target must have an incident; for a request alone, no
incident is started while the previous one may just have ended.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.dispatching.incident_calls import IncidentCalls
from detector.state.cluster_state import ClusterState
from health.model.admission import Intent
from health.model.observation import Observation
from health.model.references import IncidentReference
from health.runbook.wake_up import admitted_at, appeared, has_late_request, needs_wake_up
from workflows.contracts import FRESH

ACTED_ON_WITHIN = FRESH + timedelta(seconds=3)
"""By then the effect of an admission is seen: two seconds for clocks, one for the watch."""
WOULD_ACT = Intent()

Observe = Callable[[IncidentReference], Observation]
"""Returns the observation of an incident now."""


Answered = Callable[[IncidentReference, Observation, Intent], Observation]
"""Returns the answer to a question with this intent; may reserve a slot."""


@dataclass(frozen=True)
class _Admission:
    """The admission on which an open incident may be acting now."""

    seen_at: datetime | None = None
    """When its admission was observed; None if it has none, or that is not known."""
    intent: Intent = WOULD_ACT
    """The intent of its latest question."""


class IncidentWorkflows:
    """The incidents of one cluster, for the `Reconciler`."""

    def __init__(
        self, calls: IncidentCalls, cluster_state: ClusterState, observe: Observe, answered: Answered
    ) -> None:
        self._calls = calls
        self._answered = answered
        self._cluster_state = cluster_state
        self._observe = observe
        self._admissions: dict[str, _Admission] = {}

    def all_wanted(self) -> Iterable[IncidentReference]:
        return self._cluster_state.all_wanted()

    def is_wanted(self, key: IncidentReference) -> bool:
        return key in self._cluster_state.wanted(key.check, key.target.name)

    def observe(self, key: IncidentReference) -> Observation:
        return self._observe(key)

    def may_wait_seconds(self, observation: Observation) -> float:
        """Until the deadline; overdue incidents are called in the order in which the detector saw them."""
        return observation.remaining_seconds

    def needs_wake_up(self, key: IncidentReference, last: Observation, observation: Observation) -> bool:
        """True if the answer changed, or a request appeared that its own act did not make."""
        admitted = self._admission_of(key).seen_at
        return needs_wake_up(last, observation) or has_late_request(
            last, observation, admitted, ACTED_ON_WITHIN
        )

    def must_be_open(self, observation: Observation) -> bool:
        """True if the target is unhealthy, so that the start must not wait."""
        return observation.is_unhealthy

    def has_appeared(self, last: Observation, observation: Observation) -> bool:
        """True if a request appeared after the observation `last`."""
        return bool(appeared(last, observation))

    async def start(self, key: IncidentReference, observation: Observation) -> None:
        """Start it with `observation` as the answer to its first question."""
        await self._calls.start(key, self.answer(key, observation, self._admission_of(key).intent))

    async def wake(self, key: IncidentReference, observation: Observation) -> None:
        """Wake it; it then asks by itself."""
        self._note(key, observation, self._admission_of(key).intent)
        await self._calls.wake(key)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake an incident that was started by hand."""
        await self._calls.wake_workflow(workflow_id)

    async def running(self) -> Mapping[str, IncidentReference | None]:
        """The open incidents of this cluster by workflow id; None for one without a readable memo."""
        return {one.workflow_id: one.incident for one in await self._calls.running()}

    def answer(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        """Return and note the answer to a question with this intent."""
        answer = self._answered(incident, observation, intent)
        self._note(incident, answer, intent)
        return answer

    def _note(self, incident: IncidentReference, observation: Observation, intent: Intent) -> None:
        before = self._admission_of(incident).seen_at
        seen_at = admitted_at(observation, would_act=intent.would_act, before=before)
        self._admissions[incident.workflow_id] = _Admission(seen_at, intent)

    def has_closed(self, key: IncidentReference) -> None:
        """Forget the admission on which the incident may have been acting."""
        self._admissions.pop(key.workflow_id, None)

    def _admission_of(self, incident: IncidentReference) -> _Admission:
        return self._admissions.get(incident.workflow_id, _Admission())
