"""IncidentWorkflows: which incidents there should be, and when one is to know of what is seen.

Wanted: one incident for each unhealthy target, and one for each request of ours, so that nothing is left
behind by a workflow that was terminated. An unhealthy target must have one; for a request alone none is
started that may have ended but now.
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
"""What an incident makes on an admission is seen by then: two seconds for clocks, one for the watch."""
WOULD_ACT = Intent()

Observe = Callable[[IncidentReference], Observation]
"""What the detector sees of an incident now."""


Answered = Callable[[IncidentReference, Observation, Intent], Observation]
"""What is seen of an incident, as the answer to a question with this intent; it may reserve a slot."""


@dataclass(frozen=True)
class _Admission:
    """Whether an open incident may be acting."""

    seen_at: datetime | None = None
    """When the admission was seen that it may be acting on; None where it acts on none, or we do not know."""
    intent: Intent = WOULD_ACT
    """What it would do with an admission, as it said with its latest question."""


class IncidentWorkflows:
    """The incidents of one cluster, as a Reconciler asks for them."""

    def __init__(
        self, calls: IncidentCalls, cluster_state: ClusterState, observe: Observe, answered: Answered
    ) -> None:
        self._calls = calls
        self._answered = answered
        self._cluster_state = cluster_state
        self._observe = observe
        self._admissions: dict[str, _Admission] = {}

    def all_wanted(self) -> Iterable[IncidentReference]:
        """The incidents that there should be."""
        return self._cluster_state.all_wanted()

    def is_wanted(self, key: IncidentReference) -> bool:
        """Whether it is one of them."""
        return key in self._cluster_state.wanted(key.check, key.target.name)

    def observe(self, key: IncidentReference) -> Observation:
        """What is seen of it now."""
        return self._observe(key)

    def may_wait_seconds(self, seen: Observation) -> float:
        """Until the deadline; what is overdue is called in the order in which the detector saw it."""
        return seen.remaining_seconds

    def needs_wake_up(self, key: IncidentReference, last: Observation, seen: Observation) -> bool:
        """Whether the answer is another, or a request appeared that no act of its own made."""
        admitted = self._admission_of(key).seen_at
        return needs_wake_up(last, seen) or has_late_request(last, seen, admitted, ACTED_ON_WITHIN)

    def must_be_open(self, seen: Observation) -> bool:
        """Whether the target is unhealthy."""
        return seen.is_unhealthy

    def has_appeared(self, last: Observation, seen: Observation) -> bool:
        """Whether a request is seen that an incident that knew of `last` did not know."""
        return bool(appeared(last, seen))

    async def start(self, key: IncidentReference, seen: Observation) -> None:
        """Start it with what is seen, as the answer to its first question."""
        await self._calls.start(key, self.answer(key, seen, self._admission_of(key).intent))

    async def wake(self, key: IncidentReference, seen: Observation) -> None:
        """Wake it: it asks."""
        self._note(key, seen, self._admission_of(key).intent)
        await self._calls.wake(key)

    async def wake_unidentified(self, workflow_id: str) -> None:
        """Wake one that was started by hand."""
        await self._calls.wake_workflow(workflow_id)

    async def running(self) -> Mapping[str, IncidentReference | None]:
        """The open incidents of this cluster, as their memos say."""
        return {one.workflow_id: one.incident for one in await self._calls.running()}

    def answer(self, incident: IncidentReference, observation: Observation, intent: Intent) -> Observation:
        """The answer to a question with this intent, which is noted."""
        answer = self._answered(incident, observation, intent)
        self._note(incident, answer, intent)
        return answer

    def _note(self, incident: IncidentReference, observation: Observation, intent: Intent) -> None:
        before = self._admission_of(incident).seen_at
        seen_at = admitted_at(observation, would_act=intent.would_act, before=before)
        self._admissions[incident.workflow_id] = _Admission(seen_at, intent)

    def has_closed(self, key: IncidentReference) -> None:
        """Forget whether it was acting."""
        self._admissions.pop(key.workflow_id, None)

    def _admission_of(self, incident: IncidentReference) -> _Admission:
        return self._admissions.get(incident.workflow_id, _Admission())
