"""LostRequest: a request that somebody deleted while its target is unhealthy, so that the next one waits.

Only who looks for what the incident made knows that it was not deleted by the incident, and tells of it. Each
kind of check has its own words for it (decision 14).
"""

from dataclasses import dataclass
from datetime import datetime

from health.back_off import after_a_loss
from health.references import IncidentReference


@dataclass(frozen=True)
class LostRequest:
    """One loss; of several requests that went together it is one."""

    incident: IncidentReference
    run_id: str
    """The run of the incident's workflow."""
    uids: tuple[str, ...]
    """The requests: an attempt that is made again finds the same ones lost, and tells nothing twice."""
    due: datetime
    """When the next one is due."""
    check_uid: str
    node_name: str
    """The Node that the target is or is linked to; "" where it has none."""

    @property
    def words(self) -> str:
        """Why nothing is done until then; the same as the incident says."""
        return after_a_loss(self.due)

    @property
    def seed(self) -> str:
        """Tells it from every other loss."""
        return "\n".join((self.incident.workflow_id, self.run_id, "lost", *self.uids))
