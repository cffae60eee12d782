"""IncidentResult: the result of an incident, as its workflow returns it to the Temporal UI. Pure."""

from datetime import datetime

from health.model.ended_remediation import EndedRemediation
from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome
from health.model.order import OrderRecord
from health.model.remediation_order import RemediationOrder
from health.model.request_record import RequestRecord
from health.model.shadow_record import ShadowRecord
from health.model.timeline import Timeline
from objects.frozen import Frozen


class IncidentResult(Frozen):
    """How an incident ended, with its times, requests and orders."""

    outcome: Outcome
    reason: str
    """Why it ended, in words."""
    started: datetime
    """When the first run of the workflow started."""
    ended: datetime
    failed: datetime | None = None
    """When the condition began that the incident is about; None: it saw none."""
    recovered: datetime | None = None
    """When it saw the target healthy again, or replaced; None: neither."""
    attempts: int = 0
    """The number of the latest remediation in a row of the target; 0: nothing was done."""
    deleted: datetime | None = None
    """When the target was deleted, if a step deleted it."""
    requests: tuple[RequestRecord, ...] = ()
    remediation: EndedRemediation | None = None
    """The latest remediation of the target by this check, also if an earlier incident made it (rule 64)."""
    ordered: RemediationOrder | None = None
    """The order of a person that it carried out; None: it was automated, for a failure of its target."""
    orders: tuple[OrderRecord, ...] = ()
    shadow: ShadowRecord | None = None
    """The steps that it would have taken in shadow, and what others did; None: never in shadow."""
    timeline: Timeline = Timeline()
    """Its events in order, and the time in each phase."""
    evidence: EvidenceRecord | None = None
    """Where the state before the first step is saved, or why not; None: the check wants no evidence."""
