"""OpenIncidents: the incidents that have a workflow, as far as we know, and what each was told last."""

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime

from health.model.observation import Observation
from health.model.references import CheckReference, IncidentReference
from health.runbook.wake_up import admitted_at


@dataclass(frozen=True)
class OpenIncident:
    """One incident with a workflow."""

    incident: IncidentReference
    last_observation: Observation | None
    """What it was told last, or would be no news to it; None where we do not know."""
    since: datetime
    """When we came to know of it."""
    admitted: datetime | None = None
    """When the admission was seen that it may be acting on; None where it acts on none, or we do not know."""
    would_act: bool = True
    """Whether it would act on an admission, as it said with its latest question."""


class OpenIncidents:
    """Open incidents by workflow id, and by check and target."""

    def __init__(self) -> None:
        self._by_id: dict[str, OpenIncident] = {}
        self._by_target: defaultdict[tuple[CheckReference, str], set[str]] = defaultdict(set)

    def get(self, incident: IncidentReference) -> OpenIncident | None:
        """What is known of one incident."""
        return self._by_id.get(incident.workflow_id)

    def put(
        self,
        incident: IncidentReference,
        last_observation: Observation | None,
        now: datetime,
        *,
        would_act: bool | None = None,
    ) -> None:
        """Note that an incident is open, and what it was told.

        `would_act` is whether it would act on an admission, where it has just said so itself.
        """
        known = self._by_id.get(incident.workflow_id)
        since, admitted = (known.since, known.admitted) if known else (now, None)
        acts = would_act if would_act is not None else known is None or known.would_act
        if last_observation is not None:
            admitted = admitted_at(last_observation, would_act=acts, before=admitted)
        self._by_id[incident.workflow_id] = OpenIncident(incident, last_observation, since, admitted, acts)
        self._by_target[incident.check, incident.target.name].add(incident.workflow_id)

    def no_news(self, incident: IncidentReference, observation: Observation) -> None:
        """Note what would be no news to an open incident: as if it had been told."""
        known = self._by_id[incident.workflow_id]
        self._by_id[incident.workflow_id] = replace(known, last_observation=observation)

    def remove(self, incident: IncidentReference) -> None:
        """Note that an incident is closed."""
        self._by_id.pop(incident.workflow_id, None)
        key = (incident.check, incident.target.name)
        self._by_target[key].discard(incident.workflow_id)
        if not self._by_target[key]:
            del self._by_target[key]

    def of(self, check: CheckReference, target: str) -> frozenset[IncidentReference]:
        """The open incidents of one check over one target; more than one where it was recreated."""
        ids = self._by_target.get((check, target), set())
        return frozenset(self._by_id[workflow_id].incident for workflow_id in ids)

    def all(self) -> tuple[OpenIncident, ...]:
        """All of them."""
        return tuple(self._by_id.values())

    def clear(self) -> None:
        """Forget all."""
        self._by_id.clear()
        self._by_target.clear()
