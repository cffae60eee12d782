"""Contracts of the activities: what goes in and out, and, in one table, every timeout and retry.

Retried by Temporal: `observe` alone, for as long as it takes, since without a detector an incident can but
wait. `act` is never repeated as it is: what admitted it grows old, so an act that fails is a hold, and the
incident asks the detector anew, with back-off (`health.runbook.failing_acts`). The chores (annotate, renew,
clean up) answer what they could not do; one whose worker was lost is repeated once. Either way the incident
goes on, and tries again by its own back-off (`health.runbook.chores`), no earlier than the API server tells
us (Retry-After). What trying again cannot mend (a template that is not there, a request that is refused) is
answered in the same way, for people to read. No incident fails because the API server is away. Evidence is
tried once for each incident, whatever becomes of it: a slow API server delays the first step by
`EVIDENCE_LONGEST`, a worker that is lost by the whole of `SAVE_EVIDENCE`. Worker, detector and tests all
implement these contracts; nothing else knows the names.
"""

from datetime import datetime, timedelta
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from health.model.admission import Admission, Intent
from health.model.evidence import EvidenceRecord, EvidenceStore
from health.model.moves import AnnotationPatch
from health.model.observation import Hold, failed
from health.model.references import IncidentReference, RequestReference, Step
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import Fact
from health.runbook.chores import Chore, ChoreFailure
from objects.frozen import Frozen, OpenEnum
from workflows.kit.calls import FOR_EVER, ONCE, TWICE, Contract

_ACT_OUTCOMES = frozenset({"RequestExists", "TargetDisrupted", "RequestsLost", "ActHeld"})
FRESH = timedelta(seconds=5)
"""How old facts may be when they are acted on (rule 4)."""
CLOCK_TOLERANCE = timedelta(seconds=2)
"""How far two clocks may be apart that are both taken for that of the API server."""


class ObserveInput(Frozen):
    """Asks the detector what it sees, and for an admission if the incident would act on one."""

    incident: IncidentReference
    found: Hold | None = None
    """What held its latest act, as only the act could see; None once an act did its step."""
    would_act: bool = True
    skips_back_off: bool = False
    unproven_boot: str = ""

    @property
    def intent(self) -> Intent:
        """What the incident would do with an admission."""
        return Intent(
            would_act=self.would_act,
            skips_back_off=self.skips_back_off,
            unproven_boot=self.unproven_boot,
        )


class ActInput(Frozen):
    """Asks for a request for the target, if `fact` is still true of it."""

    incident: IncidentReference
    run_id: str
    """The run, as it was named before any reset: what is made anew after one meets its own request."""
    step: Step
    admission: Admission = Admission()
    """By default that of a check without limits: older workers say nothing of it."""
    fact: Fact
    seen_at: datetime | None = None
    """When the detector saw what admits it, by the API server's clock; None: too long ago."""
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
    """Whether the incident held the Lease before: then an act that fails does not release it."""
    requests: tuple[RequestReference, ...] = ()
    """Those for the target that the detector sees; what rests on one reads it again."""


class EvidenceInput(Frozen):
    """Asks to save what is true of the target, if `fact` is still true of it, before `step` is taken."""

    incident: IncidentReference
    first_run_id: str
    """The run that the incident began with: whatever runs follow, there is one evidence."""
    store: OpenEnum[EvidenceStore]
    step: Step
    reason: str
    """What is wrong with the target, in words."""
    fact: Fact
    generation: int
    admission: Admission = Admission()
    is_shadow: bool = False
    """Whether the step will be recorded in place of taken; then there is no admission."""


class EvidenceResult(Frozen):
    """Where it is; or why the step may not be taken now: then nothing was saved."""

    record: EvidenceRecord | None = None
    hold: Hold | None = None
    """What the revalidation found, as that of an act would have."""


class RequestExists(Frozen):
    """The request of the step is there, made by this act or before it."""

    kind: Literal["RequestExists"] = "RequestExists"
    request: RequestSnapshot
    lease_acquired_at: datetime | None = None
    """Since when the Lease is held; None: the act did not take it."""


class TargetDisrupted(Frozen):
    """The target was deleted or marked, or that is under way already; there is no request for it."""

    kind: Literal["TargetDisrupted"] = "TargetDisrupted"
    lease_acquired_at: datetime | None = None
    """Since when the Lease is held; None: what is under way needs none."""


class RequestsLost(Frozen):
    """What was known is gone, and somebody else deleted it; nothing was made anew."""

    kind: Literal["RequestsLost"] = "RequestsLost"


class ActHeld(Frozen):
    """Nothing was done, or nobody knows what was."""

    kind: Literal["ActHeld"] = "ActHeld"
    hold: Hold
    is_forbidden: bool = False
    """Whether the API server said 403, which may be but that it has just started."""


class ActResult(Frozen):
    """What an act came to: just one of these."""

    outcome: RequestExists | TargetDisrupted | RequestsLost | ActHeld = Field(discriminator="kind")

    @classmethod
    def requested(cls, request: RequestSnapshot, acquired: datetime | None = None) -> Self:
        """The request exists now, under a Lease that was `acquired` then."""
        return cls(outcome=RequestExists(request=request, lease_acquired_at=acquired))

    @classmethod
    def disrupted(cls, acquired: datetime | None = None) -> Self:
        """The target was deleted or marked, under a Lease that was `acquired` then."""
        return cls(outcome=TargetDisrupted(lease_acquired_at=acquired))

    @classmethod
    def lost(cls) -> Self:
        """Somebody deleted what was known."""
        return cls(outcome=RequestsLost())

    @classmethod
    def held(cls, hold: Hold, *, is_forbidden: bool = False) -> Self:
        """Why nothing was done."""
        return cls(outcome=ActHeld(hold=hold, is_forbidden=is_forbidden))

    @property
    def request(self) -> RequestSnapshot | None:
        """The request, where one exists."""
        return self.outcome.request if isinstance(self.outcome, RequestExists) else None

    @property
    def hold(self) -> Hold | None:
        """Why nothing was done, where nothing was."""
        return self.outcome.hold if isinstance(self.outcome, ActHeld) else None

    @model_validator(mode="before")
    @classmethod
    def _hold_what_is_not_understood(cls, answer: Any) -> Any:  # noqa: ANN401  as pydantic says
        """Of what a worker of another version answers nobody knows what it did."""
        if not isinstance(answer, dict):
            return answer
        outcome = answer.get("outcome")
        kind = outcome.get("kind", "") if isinstance(outcome, dict) else getattr(outcome, "kind", "")
        if kind in _ACT_OUTCOMES:
            return answer
        said = " ".join(part for part in ("its answer", kind, "is not known here") if part)
        return {"outcome": ActHeld(hold=failed(f"the worker is of another version: {said}"))}


class CleanUpInput(Frozen):
    """Asks to delete the requests and to release the Lease of the target."""

    incident: IncidentReference
    requests: tuple[RequestReference, ...]
    doubtful: tuple[str, ...] = ()
    """The uids of those that the detector does not see as the check's: what is another's by now is kept."""
    is_of_control_plane: bool = False
    """Whether the control-plane lock is to be released too."""
    is_confirmed: bool = False
    """Whether a person's confirmation that the target is healthy is to be taken off."""


class CleanUpResult(Frozen):
    """What remains."""

    remaining: tuple[RequestReference, ...] = ()
    """Requests that are being deleted, and that a finalizer keeps."""
    failures: tuple[ChoreFailure, ...] = ()
    """What could not be deleted, released or taken off."""
    has_lease: bool = False
    """Whether the Lease of the target was kept."""


class RenewInput(Frozen):
    """Asks to keep the Lease of the target."""

    incident: IncidentReference
    duration_seconds: float
    is_of_control_plane: bool = False
    """Whether the control-plane lock is to be kept too."""


class RenewResult(Frozen):
    """Whether the Lease is ours."""

    acquired_at: datetime | None = None
    """Since when; None: it is not, and was left as it is."""
    failures: tuple[ChoreFailure, ...] = ()
    """The Lease, where it could not be renewed."""


class AnnotateInput(Frozen):
    """Asks to write annotations on requests; one that is gone is left out."""

    incident: IncidentReference
    patches: tuple[AnnotationPatch, ...]


class AnnotateResult(Frozen):
    """What became of them."""

    failures: tuple[ChoreFailure, ...] = ()
    """Those that were not written."""


_ATTEMPT, _CHORE = timedelta(seconds=10), timedelta(seconds=25)

OBSERVE = Contract("observe", timedelta(seconds=5), None, FOR_EVER)
"""Answered by the detector that holds the lead. It waits in its queue until there is one."""
EVIDENCE_READING = timedelta(seconds=2)
"""What was not read by then is missing in the evidence."""
EVIDENCE_LONGEST = timedelta(seconds=3)
"""What was not saved by then is not."""
SAVE_EVIDENCE = Contract("save_evidence", timedelta(seconds=4), timedelta(seconds=9), TWICE)
"""Repeated only where a worker was lost."""
ACT = Contract("act", _ATTEMPT, timedelta(seconds=20), ONCE)
CLEAN_UP = Contract(Chore.CLEAN_UP.value, _ATTEMPT, _CHORE, TWICE)
RENEW = Contract(Chore.RENEW.value, _ATTEMPT, _CHORE, TWICE)
ANNOTATE = Contract(Chore.ANNOTATE.value, _ATTEMPT, _CHORE, TWICE)


def worker_queue(cluster: str) -> str:
    """The task queue of workflows and of the activities that act."""
    return f"paramedic-{cluster}"


def detector_queue(cluster: str) -> str:
    """The task queue of `observe`, polled only by the detector that holds the lead."""
    return f"paramedic-{cluster}-detector"
