"""IncidentResult: what became of an incident, as its workflow returns it to the Temporal UI. Pure."""

from datetime import datetime

from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome
from health.model.request_record import RequestRecord
from health.model.shadow_record import ShadowRecord
from objects.frozen import Frozen


class OrderRecord(Frozen):
    """One order of a person."""

    order: str
    """`abort`, `hold` or `resume`."""
    reason: str
    given: datetime
    until: datetime | None = None
    """When it ends by itself; None: never."""

    def is_over(self, now: datetime) -> bool:
        """Whether it has ended by itself."""
        return self.until is not None and now >= self.until


class IncidentResult(Frozen):
    """The end of an incident."""

    outcome: Outcome
    reason: str
    """Why it ended, in words."""
    started: datetime
    """When the first run of the workflow was started."""
    ended: datetime
    attempts: int = 0
    """Which remediation of its target in a row the latest one was; 0: nothing was done."""
    deleted: datetime | None = None
    """When the target was deleted, where that is what was done."""
    requests: tuple[RequestRecord, ...] = ()
    orders: tuple[OrderRecord, ...] = ()
    shadow: ShadowRecord | None = None
    """What it would have done, and others did, while it was in shadow; None: it never was."""
    evidence: EvidenceRecord | None = None
    """Where what was true before its first step is saved, or why not; None: nobody wanted that."""
