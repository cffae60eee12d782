"""Messages of a Remediation: its input, the orders that people send, and the answer to the query `state`.

One input object each, with defaults, so that the Temporal UI (which sends one JSON value) can send them.
"""

from datetime import datetime

from temporalio.common import SearchAttributeKey

from health.model.details import Details
from health.model.moves import NextTransition, Outcome, Phase
from health.model.observation import Observation
from health.model.references import IncidentReference
from health.model.request_snapshot import RequestSnapshot
from health.runbook.memory import Memory
from objects.frozen import Frozen, OpenEnum
from workflows.contracts import CLOCK_TOLERANCE, FRESH
from workflows.kit.runs import RunInput
from workflows.kit.standing_orders import StandingOrder

WORKFLOW = "Remediation"
WAKE = "wake"
"""The one signal of the detector, with a Wake: the answer for this incident changed."""
REPLACED_BY_MEMO = "replaced_by"
"""What makes another target when this one is deleted: back-off goes by it (rule 14)."""
INCIDENT_MEMO = "incident"
"""The memo by which a listed workflow says which incident it is; its id has but a part of the uid."""
ATTEMPT = SearchAttributeKey.for_int("ParamedicAttempt")
"""Which remediation of its target in a row an incident that acted was, its lost requests counted."""
ATTEMPT_ENDED = SearchAttributeKey.for_datetime("ParamedicAttemptEnded")
"""When that ended; from both the detector knows after a restart how long the next one waits (rule 14)."""
UNKNOWN_STEP = "UnknownStep"
"""The type of the error that refuses a `ResumeOrder` whose `step` is of none of the templates."""


class RemediationInput(RunInput):
    """Starts an incident, or carries it on in a new run."""

    incident: IncidentReference
    observation: Observation | None = None
    """What the detector saw when it started the incident; used while it is fresh."""
    memory: Memory = Memory()

    def fresh_observation(self, now: datetime) -> Observation | None:
        """What the start carries, where it may still be acted on; None: ask.

        It is as old as the moment at which it was seen, by the detector's word: a client may have tried the
        start for a while, and the Temporal UI starts copies of old inputs.
        """
        if self.observation is None or self.observation.seen_at is None:
            return None
        if not -CLOCK_TOLERANCE <= now - self.observation.seen_at < FRESH:
            return None
        return self.observation.model_copy(update={"answered_at": self.observation.seen_at})


class Wake(Frozen):
    """Wakes an incident; it carries no facts on purpose."""

    seen_at: datetime | None = None
    """Of the one that comes with a start: the moment of the observation that the start carries."""


class AbortOrder(StandingOrder):
    """Clean up and leave the target alone: until it has recovered, for a time, or until `resume`."""

    reason: str = "abort was ordered"


class HoldOrder(StandingOrder):
    """Do nothing new for the target, for a time or until `resume`, and keep what exists."""

    reason: str = "hold was ordered"


class ResumeOrder(Frozen):
    """Take care of the target again, at once: ends `abort`, `hold` and a wait between two attempts.

    Of an incident that has tried all its steps, and of any with a `step`, all requests are deleted, and the
    steps are taken anew.
    """

    reason: str = "resume was ordered"
    step: str = ""
    """The name of the template to begin with; "" for the first."""


class State(Frozen):
    """Answer to the query `state`."""

    phase: OpenEnum[Phase]
    details: str
    """The parts of `why` in one sentence, for people who read the answer itself."""
    why: Details = Details()
    outcome: OpenEnum[Outcome] | None = None
    requests: tuple[RequestSnapshot, ...] = ()
    observation: Observation | None = None
    memory: Memory = Memory()
    """With the orders of people, and when the Lease is renewed."""
    wakes_at: datetime | None = None
    """When its timer ends, by Temporal's clock; None: it waits for nothing but a wake or an order."""
    next_transition: NextTransition | None = None
    """What takes it further by itself; None: unknown, the detector is being asked."""
