"""Contracts of the activities: what goes in and out, and, in one table, every timeout and retry.

Retried: whatever an activity raises, without a limit on attempts, with back-off, and no earlier than the API
server tells us (Retry-After); an incident never fails because the API server is away. `act` alone is never
repeated as it is: what admitted it grows old, so an act that fails is a hold, and the incident asks the
detector anew. What trying again cannot mend (a template that is not there, a request that the API server
refuses) is answered as a hold too, for people to read.
Worker, detector and tests all implement these contracts; nothing else knows the names.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio.common import RetryPolicy

from health.frozen import Frozen
from health.moves import RequestMark
from health.observation import Hold
from health.references import IncidentReference, RequestReference, Step
from health.request_sight import RequestSight
from health.verdict import Fact


class ObserveInput(Frozen):
    """Asks the detector what it sees, and whether the incident may act."""

    incident: IncidentReference
    found: Hold | None = None
    """What held its latest act, as only the act could see; None once an act did its step."""


class ActInput(Frozen):
    """Asks for a request for the target, if `fact` is still true of it."""

    incident: IncidentReference
    run_id: str
    step: Step
    fact: Fact
    generation: int
    known: tuple[RequestReference, ...] = ()
    """What the incident made before in this step; if one of these still exists, that is the request."""
    settled: tuple[str, ...] = ()
    """The uids of those of `known` whose end is no loss: nobody took them from the incident."""
    due_after_loss: datetime | None = None
    """When the next request is due if somebody took the others; None: at once, and nothing is told."""
    attempt: int = 1
    """Which remediation of the target in a row the request is of."""
    holds_lease: bool = False
    """Whether the incident held the Lease before: then an act that fails does not give it back."""
    is_under_way: bool = False
    """Whether a request for the target exists: then etcd has spared it already (semantics 2.4/1)."""


class ActResult(Frozen):
    """The request that exists now, or why nothing was done."""

    request: RequestSight | None = None
    hold: Hold | None = None
    is_done: bool = False
    """The target was deleted or marked, or that is under way already; there is no request for it."""
    is_lost: bool = False
    """What was known is gone, and somebody else deleted it; nothing was made anew."""
    lease_acquired_at: datetime | None = None


class CleanUpInput(Frozen):
    """Asks to delete the requests and to give the Lease of the target back."""

    incident: IncidentReference
    requests: tuple[RequestReference, ...]
    doubtful: tuple[str, ...] = ()
    """The uids of those that the detector does not see as the check's: what is another's by now is kept."""
    is_of_control_plane: bool = False
    """Whether the control plane's turn is to be given back too."""
    is_confirmed: bool = False
    """Whether a person's mark that the target is healthy is to be taken off."""


class CleanUpResult(Frozen):
    """What could not go yet, because of a finalizer."""

    remaining: tuple[RequestReference, ...] = ()


class RenewInput(Frozen):
    """Asks to keep the Lease of the target."""

    incident: IncidentReference
    duration_seconds: float
    is_of_control_plane: bool = False
    """Whether the control plane's turn is to be kept too."""


class RenewResult(Frozen):
    """Whether the Lease is ours."""

    acquired_at: datetime | None = None
    """Since when; None: it is not, and was left as it is."""


class MarkInput(Frozen):
    """Asks to write annotations on requests; one that is gone is left out."""

    incident: IncidentReference
    marks: tuple[RequestMark, ...]


@dataclass(frozen=True)
class Contract:
    """How one activity is called."""

    name: str
    start_to_close: timedelta
    """Longest time of one attempt; also how long a worker that was killed stays unnoticed."""
    retry: RetryPolicy


FIRST_RETRY, LONGEST_RETRY = timedelta(milliseconds=500), timedelta(seconds=10)
_RETRY = RetryPolicy(initial_interval=FIRST_RETRY, maximum_interval=LONGEST_RETRY)

ONCE = RetryPolicy(maximum_attempts=1)

OBSERVE = Contract("observe", timedelta(seconds=5), _RETRY)
"""Answered by the detector that holds the lead. It waits in its queue until there is one."""
ACT = Contract("act", timedelta(seconds=10), _RETRY)
CLEAN_UP = Contract("clean_up", timedelta(seconds=10), _RETRY)
RENEW = Contract("renew", timedelta(seconds=10), _RETRY)
MARK = Contract("mark", timedelta(seconds=10), _RETRY)

FRESH = timedelta(seconds=5)
"""How old facts may be when they are acted on (decision 4)."""


def hands_queue(cluster: str) -> str:
    """The task queue of workflows and of the activities that act."""
    return f"paramedic-{cluster}"


def eyes_queue(cluster: str) -> str:
    """The task queue of `observe`, polled only by the detector that holds the lead."""
    return f"paramedic-{cluster}-eyes"
