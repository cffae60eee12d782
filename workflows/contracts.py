"""Contracts of the activities: inputs, results, and in one table every timeout and retry.

Temporal retries only `observe`, without limit, because an incident without a detector can only wait. `act`
is not retried with the same input, because its admission expires: a failed act is a hold, and the incident
asks the detector again with back-off (`health.runbook.failures`). The maintenance tasks (annotate, renew,
clean up) return their failures; if the worker was lost, a task is repeated once. The incident goes on in any
case and tries again by its own back-off (`health.runbook.failures`), no earlier than Retry-After.
Permanent problems (a missing template, a refused request) are returned in the same way, for people to read.
No incident fails because the API server is away.

Evidence is tried once per incident: a slow API server delays the first step by `EVIDENCE_LONGEST`, a lost
worker by the whole of `SAVE_EVIDENCE`. Worker, detector and tests implement these contracts; no other module
knows the names.
"""

from datetime import datetime, timedelta
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from health.model.admission import Admission, Intent
from health.model.approval import Progress
from health.model.evidence import EvidenceRecord
from health.model.moves import AnnotationPatch
from health.model.observation import Hold, failed
from health.model.order import OrderRecord
from health.model.references import IncidentReference, RequestReference, Step
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import CountedFact, Fact
from health.runbook.failures import MaintenanceTask, TaskFailure
from health.runbook.memory_parts import RequestDelay
from objects.frozen import Frozen
from workflows.kit import FOR_EVER, ONCE, TWICE, Contract

_ACT_OUTCOMES = frozenset({"RequestExists", "TargetDisrupted", "RequestsLost", "ActHeld"})
FRESH = timedelta(seconds=5)
"""The maximum age of facts for an act (rule 4)."""
CLOCK_TOLERANCE = timedelta(seconds=2)
"""The maximum difference between two clocks that both count as the API server's."""


class ObserveInput(Frozen):
    """Asks the detector for an observation, and for an admission if the incident would use one."""

    incident: IncidentReference
    found: Hold | None = None
    """The finding of its latest act, if only the act could see it; None after a completed step."""
    orders: tuple[OrderRecord, ...] = ()
    """The orders, and refusals of orders, that no earlier answered question had; each gets an Event."""
    progress: Progress = Progress()
    counted: CountedFact | None = None
    """The failure as the incident counts it; None: it has seen none."""
    would_act: bool = True
    skips_back_off: bool = False
    unproven_boot: str | None = None

    @property
    def intent(self) -> Intent:
        return Intent(
            would_act=self.would_act,
            skips_back_off=self.skips_back_off,
            unproven_boot=self.unproven_boot,
        )


class JudgedStep(Frozen):
    """A step that the detector judged, with the facts that the worker compares before it."""

    incident: IncidentReference
    step: Step
    fact: Fact
    generation: int
    admission: Admission = Admission()
    """The default is the admission of a check without limits."""
    is_approved: bool = False
    """True if a person, or the default of the check, approved this step."""

    @property
    def is_only_recorded(self) -> bool:
        """True in shadow, where the step is recorded instead of taken; there is then no admission."""
        return False


class ActInput(JudgedStep):
    """Asks for a request for the target, if `fact` still holds."""

    run_id: str
    """The run id before any reset, so that a run after a reset finds its own request."""
    seen_at: datetime | None = None
    """When the detector saw the facts, by the API server's clock; None: too long ago."""
    known: tuple[RequestReference, ...] = ()
    """Requests that the incident made in this step; if one still exists, it is used."""
    settled: tuple[str, ...] = ()
    """The uids of those of `known` whose disappearance is not a loss."""
    due_after_loss: datetime | None = None
    """When the next request is due if the others were lost; None: at once, and no Event is emitted."""
    attempt: int = 1
    """The number of this remediation in a row for the target."""
    holds_lease: bool = False
    """True if the incident already held the Lease; a failed act then does not release it."""
    requests: tuple[RequestReference, ...] = ()
    """The requests for the target that the detector sees; the act reads the relevant ones again."""
    approved_version: str | None = None
    """The fingerprint of the approved template; None: unknown, or no person approved it."""
    delay: RequestDelay | None = None
    """For the first step: the times since the failure, for a metric."""
    repetition: str | None = None
    """How often in a row the first steps alone were taken, with this one; None unless an Event says so."""


class EvidenceInput(JudgedStep):
    """Asks to save the state of the target before `step`, if `fact` still holds."""

    first_run_id: str
    """The first run of the incident: all its runs share one piece of evidence."""
    reason: str
    """The problem of the target, in words."""
    is_shadow: bool = False
    """True if the step will be recorded instead of taken; there is then no admission."""

    @property
    def is_only_recorded(self) -> bool:
        return self.is_shadow


class EvidenceResult(Frozen):
    """The place of the evidence, or why the step may not be taken; then nothing was saved."""

    record: EvidenceRecord | None = None
    hold: Hold | None = None
    """The finding of the revalidation, as for an act."""


class RequestExists(Frozen):
    """The request of the step exists, made by this act or before it."""

    kind: Literal["RequestExists"] = "RequestExists"
    request: RequestSnapshot
    lease_acquired_at: datetime | None = None
    """When the Lease was acquired; None: the act did not acquire it."""


class TargetDisrupted(Frozen):
    """The target was deleted or marked, now or earlier; there is no request for it."""

    kind: Literal["TargetDisrupted"] = "TargetDisrupted"
    lease_acquired_at: datetime | None = None
    """When the Lease was acquired; None: an earlier deletion or mark needs no Lease."""


class RequestsLost(Frozen):
    """The known requests are gone because another actor deleted them; no new one was made."""

    kind: Literal["RequestsLost"] = "RequestsLost"


class ActHeld(Frozen):
    """Nothing was done, or the result is unknown."""

    kind: Literal["ActHeld"] = "ActHeld"
    hold: Hold
    is_forbidden: bool = False
    """True if the API server answered 403, possibly only because it has just started."""


class ActResult(Frozen):
    """The result of an act: exactly one of these outcomes."""

    outcome: RequestExists | TargetDisrupted | RequestsLost | ActHeld = Field(discriminator="kind")

    @classmethod
    def requested(cls, request: RequestSnapshot, acquired: datetime | None = None) -> Self:
        """The request exists, under a Lease acquired at `acquired`."""
        return cls(outcome=RequestExists(request=request, lease_acquired_at=acquired))

    @classmethod
    def disrupted(cls, acquired: datetime | None = None) -> Self:
        """The target was deleted or marked, under a Lease acquired at `acquired`."""
        return cls(outcome=TargetDisrupted(lease_acquired_at=acquired))

    @classmethod
    def lost(cls) -> Self:
        """The known requests were deleted by another actor."""
        return cls(outcome=RequestsLost())

    @classmethod
    def held(cls, hold: Hold, *, is_forbidden: bool = False) -> Self:
        return cls(outcome=ActHeld(hold=hold, is_forbidden=is_forbidden))

    @property
    def request(self) -> RequestSnapshot | None:
        return self.outcome.request if isinstance(self.outcome, RequestExists) else None

    @property
    def hold(self) -> Hold | None:
        """Why nothing was done; None if something was."""
        return self.outcome.hold if isinstance(self.outcome, ActHeld) else None

    @model_validator(mode="before")
    @classmethod
    def _hold_what_is_not_understood(cls, answer: Any) -> Any:  # noqa: ANN401  as pydantic says
        """Treat the unknown outcome of a worker of another version as a hold."""
        if not isinstance(answer, dict):
            return answer
        outcome = answer.get("outcome")
        kind = outcome.get("kind", "") if isinstance(outcome, dict) else getattr(outcome, "kind", "")
        if kind in _ACT_OUTCOMES:
            return answer
        reason = " ".join(part for part in ("its answer", kind, "is not known here") if part)
        return {"outcome": ActHeld(hold=failed(f"the worker is of another version: {reason}"))}


class CleanUpInput(Frozen):
    """Asks to delete the requests and to release the Lease of the target."""

    incident: IncidentReference
    requests: tuple[RequestReference, ...]
    doubtful: tuple[str, ...] = ()
    """The uids of those that the detector does not see as this check's; one of another owner is kept."""
    is_confirmed: bool = False
    """True if the clean-up removes a person's confirmation from the target."""
    is_gone: bool = False
    """True if the target is gone, so that a replacement may be about to appear."""
    order: RemediationOrder | None = None
    """The person's order to remove from the target, which is over; None: there is none."""


class CleanUpResult(Frozen):
    """The objects that remain after a clean-up."""

    remaining: tuple[RequestReference, ...] = ()
    """Requests that are being deleted and kept by a finalizer."""
    failures: tuple[TaskFailure, ...] = ()
    """Deletions, releases and removals that failed."""
    has_lease: bool = False
    """True if the Lease of the target was kept."""


class RenewInput(Frozen):
    """Asks to renew the Lease of the target, and the lock that it names."""

    incident: IncidentReference
    duration_seconds: float


class RenewResult(Frozen):
    """The state of the Lease after an attempt to renew it."""

    acquired_at: datetime | None = None
    """When the Lease was acquired; None: it is not ours and was left unchanged."""
    failures: tuple[TaskFailure, ...] = ()
    """The failed renewal, if it failed."""


class AnnotateInput(Frozen):
    """Asks to write annotations on requests; a missing request is skipped."""

    incident: IncidentReference
    patches: tuple[AnnotationPatch, ...]


class AnnotateResult(Frozen):
    """The result of writing annotations: the failed patches."""

    failures: tuple[TaskFailure, ...] = ()
    """The patches that were not written."""


_ATTEMPT, _CHORE = timedelta(seconds=10), timedelta(seconds=25)

OBSERVE = Contract(
    name="observe", start_to_close=timedelta(seconds=5), schedule_to_close=None, retry=FOR_EVER
)
"""Answered by the leading detector; waits in its queue until there is one."""
EVIDENCE_READING = timedelta(seconds=2)
"""Parts not read within this time are missing in the evidence."""
EVIDENCE_LONGEST = timedelta(seconds=3)
"""Evidence not saved within this time is not saved."""
SAVE_EVIDENCE = Contract(
    name="save_evidence",
    start_to_close=timedelta(seconds=4),
    schedule_to_close=timedelta(seconds=9),
    retry=TWICE,
)
"""Retried only after the loss of a worker."""
ACT = Contract(name="act", start_to_close=_ATTEMPT, schedule_to_close=timedelta(seconds=20), retry=ONCE)
CLEAN_UP = Contract(
    name=MaintenanceTask.CLEAN_UP.value, start_to_close=_ATTEMPT, schedule_to_close=_CHORE, retry=TWICE
)
RENEW = Contract(
    name=MaintenanceTask.RENEW.value, start_to_close=_ATTEMPT, schedule_to_close=_CHORE, retry=TWICE
)
ANNOTATE = Contract(
    name=MaintenanceTask.ANNOTATE.value, start_to_close=_ATTEMPT, schedule_to_close=_CHORE, retry=TWICE
)


def worker_queue(cluster: str) -> str:
    """The task queue of workflows and of the activities of the worker."""
    return f"paramedic-{cluster}"


def detector_queue(cluster: str) -> str:
    """The task queue of `observe`, polled only by the leading detector."""
    return f"paramedic-{cluster}-detector"
