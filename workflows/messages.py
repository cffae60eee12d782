"""Messages of a Remediation: its input, its wake, and the answer to the query `state`.

The orders of people are in `health.runbook.orders`.

Each is one input object with defaults, because the Temporal UI can send one JSON value only.
"""

from datetime import datetime

from temporalio.common import SearchAttributeKey

from health.model.details import Details
from health.model.moves import NextTransition, Outcome, Phase
from health.model.observation import Observation
from health.model.references import IncidentReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.orders import OrderContext
from health.runbook.state import Memory
from objects.frozen import Frozen, OpenEnum
from workflows.contracts import CLOCK_TOLERANCE, FRESH
from workflows.kit import RunInput

WORKFLOW = "Remediation"
WAKE = "wake"
"""The only signal of the detector, with a Wake: the answer for this incident changed."""
REPLACED_BY_MEMO = "replaced_by"
"""The owner that replaces the target after its deletion; back-off uses it (rule 14)."""
INCIDENT_MEMO = "incident"
"""The memo with the incident of a listed workflow, because its id has only a part of the uid."""
EARLIER_ATTEMPT_MEMO = "earlier_attempt"
"""The latest remediation of the target before this incident, an EarlierAttempt (rule 14)."""
CLUSTER = SearchAttributeKey.for_keyword("ParamedicCluster")
"""The cluster of any workflow of ours."""
ATTEMPT = SearchAttributeKey.for_int("ParamedicAttempt")
"""The number, in a row, of the remediation of an incident that acted, including lost requests."""
ATTEMPT_ENDED = SearchAttributeKey.for_datetime("ParamedicAttemptEnded")
"""When that remediation ended. With both attributes a new detector knows the next wait (rule 14)."""
BLOCKED = SearchAttributeKey.for_keyword("ParamedicBlocked")
"""Why the incident did nothing when it rested last, a `Blocked`; an ended incident keeps its last value."""
ORDER_REFUSED = "OrderRefused"
"""The type of the error of a refused order; its details name the refused field, if it is one."""


class EarlierAttempt(Frozen):
    """A remediation of the same target that ended before an incident began."""

    number: int
    """Its place in the row; 0: there was none within the last hour."""
    ended: datetime | None = None
    requested: datetime | None = None
    """When its request was created; None: unknown."""


class RemediationInput(RunInput):
    """Starts an incident, or continues it in a new run."""

    incident: IncidentReference
    observation: Observation | None = None
    """The detector's observation at the start of the incident; used while it is fresh."""
    memory: Memory = Memory()

    def fresh_observation(self, now: datetime) -> Observation | None:
        """The observation in the input, if it is fresh enough to act on; None: ask.

        Its age counts from the moment when it was seen, by the detector: a client may have retried the start
        for a while, and the Temporal UI starts copies of old inputs.
        """
        if self.observation is None or self.observation.seen_at is None:
            return None
        if not -CLOCK_TOLERANCE <= now - self.observation.seen_at < FRESH:
            return None
        return self.observation.answered(self.observation.seen_at)


class Wake(Frozen):
    """Wakes an incident; it deliberately carries no facts."""

    seen_at: datetime | None = None
    """For a wake sent with a start: when the observation in the start was seen."""


class State(Frozen):
    """The answer to the query `state` of an incident."""

    phase: OpenEnum[Phase]
    details: str
    """The parts of `why` in one sentence, for people who read the raw answer."""
    why: Details = Details()
    outcome: OpenEnum[Outcome] | None = None
    requests: tuple[RequestSnapshot, ...] = ()
    observation: Observation | None = None
    memory: Memory = Memory()
    """Includes the orders of people, and when the Lease is renewed."""
    wakes_at: datetime | None = None
    """When its timer ends, by Temporal's clock; None: it waits for a wake or an order only."""
    next_transition: NextTransition | None = None
    """The change that moves it on by itself; None: unknown while it asks the detector."""

    last_known: Observation | None = None
    """The latest observation with a known state of the target, where `observation` has none."""

    def situation(self, now: datetime) -> OrderContext:
        observation = self.last_known or self.observation
        return OrderContext(phase=self.phase, memory=self.memory, observation=observation, now=now)
