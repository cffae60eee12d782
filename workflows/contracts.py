"""Contracts of the activities: what goes in and out, and, in one table, every timeout and retry.

Retried: whatever an activity raises, without a limit on attempts, with back-off; an incident never fails
because the API server is away. What trying again cannot mend (a template that is not there, a request that
the API server refuses) is not raised but answered, as a hold that people can read.
Worker, detector and tests all implement these contracts; nothing else knows the names.
"""

from dataclasses import dataclass
from datetime import timedelta

from temporalio.common import RetryPolicy

from health.frozen import Frozen
from health.observation import Hold
from health.references import IncidentReference, RequestReference, Step
from health.verdict import Fact


class ObserveInput(Frozen):
    """Asks the detector what it sees, and whether the incident may act."""

    incident: IncidentReference


class ActInput(Frozen):
    """Asks for a request for the target, if `fact` is still true of it."""

    incident: IncidentReference
    run_id: str
    step_number: int
    step: Step
    fact: Fact
    generation: int
    known: tuple[RequestReference, ...] = ()
    """What the incident made before; if one of these still exists, that is the request."""


class ActResult(Frozen):
    """The request that exists now, or why nothing was done."""

    request: RequestReference | None = None
    hold: Hold | None = None


class CleanUpInput(Frozen):
    """Asks to delete the requests and to give the Lease of the target back."""

    incident: IncidentReference
    requests: tuple[RequestReference, ...]


class CleanUpResult(Frozen):
    """What could not go yet, because of a finalizer."""

    remaining: tuple[RequestReference, ...] = ()


class RenewInput(Frozen):
    """Asks to keep the Lease of the target."""

    incident: IncidentReference
    duration_seconds: float


@dataclass(frozen=True)
class Contract:
    """How one activity is called."""

    name: str
    start_to_close: timedelta
    """Longest time of one attempt; also how long a worker that was killed stays unnoticed."""
    retry: RetryPolicy


_RETRY = RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10))

OBSERVE = Contract("observe", timedelta(seconds=5), _RETRY)
"""Answered by the detector that holds the lead. It waits in its queue until there is one."""
ACT = Contract("act", timedelta(seconds=10), _RETRY)
CLEAN_UP = Contract("clean_up", timedelta(seconds=10), _RETRY)
RENEW = Contract("renew", timedelta(seconds=10), _RETRY)

FRESH = timedelta(seconds=5)
"""How old facts may be when they are acted on (decision 4)."""


def hands_queue(cluster: str) -> str:
    """The task queue of workflows and of the activities that act."""
    return f"paramedic-{cluster}"


def eyes_queue(cluster: str) -> str:
    """The task queue of `observe`, polled only by the detector that holds the lead."""
    return f"paramedic-{cluster}-eyes"
