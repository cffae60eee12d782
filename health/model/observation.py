"""Observation: the detector's answer to an incident: target, check and "may I?", at one moment.

These values travel through Temporal, so they are flat: no unions, seconds as numbers, and a default for each
field that is added later.

A detector of another version may answer with a target state or a step action that this version does not
know, and it may mean anything. The target then counts as unknown, or the incident is held: existing requests
stay, and nothing new is done. An unknown hold reason needs no rule: it holds.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import model_validator

from health.model.admission import Admission
from health.model.annotations import AnnotatedAnswer
from health.model.approval import RequiredApproval
from health.model.details import HoldWords, named_reason
from health.model.evidence import EvidenceStore
from health.model.notification import WantedEvents
from health.model.owner_signs import SignSighting
from health.model.references import Action, Step
from health.model.remediation_order import RemediationOrder
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import Fact
from health.model.wake_rule import WakeRule
from objects.frozen import Frozen, OpenEnum, is_known
from objects.short_text import ShortText

FAILED_ASK_AGAIN_SECONDS = 5.0
OTHER_VERSION_ASK_AGAIN_SECONDS = 60.0
"""During a rolling update another worker may take the next answer and understand it."""


class TargetState(StrEnum):
    """The state of the target of an incident."""

    HEALTHY = "Healthy"
    WAITING = "Waiting"
    EXPIRED = "Expired"
    GONE = "Gone"
    """It was deleted, or an object with another uid took its place."""
    RELEASED = "Released"
    """The check no longer selects it, or the check itself was deleted."""
    UNKNOWN = "Unknown"
    """The detector cannot determine the state; the hold says why."""


ENDED = frozenset({TargetState.HEALTHY, TargetState.GONE, TargetState.RELEASED})
"""States in which only cleaning up is left to do."""


class HoldReason(StrEnum):
    """Why an incident may not act now."""

    STALE_CACHE = "StaleCache"
    CLOCK_SKEW = "ClockSkew"
    """The clock of the detector, of Temporal or of a workload cluster is off or was set back, so no time can
    be trusted."""
    NOT_HANDLED = "NotHandled"
    """By a setting, another controller handles checks of this kind."""
    INVALID_CHECK = "InvalidCheck"
    INVALID_TARGET = "InvalidTarget"
    REQUESTS_UNREAD = "RequestsUnread"
    TEMPLATES_UNREAD = "TemplatesUnread"
    CLUSTER_CONTEXT_UNREAD = "ClusterContextUnread"
    """A reason to hold all checks may exist and cannot be read."""
    WORKLOAD_CLUSTER_UNREACHABLE = "WorkloadClusterUnreachable"
    """The Nodes of its targets are in a workload cluster that cannot be read now."""
    WORKLOAD_CLUSTER_CHANGED = "WorkloadClusterChanged"
    """The same name now leads to another cluster than the one whose Nodes were read before."""
    NODES_VANISHED = "NodesVanished"
    """So many Nodes of Machines disappeared together that the list is not believed."""
    SUSPECTED_OUTAGE = "SuspectedOutage"
    """So many Nodes fell silent at once that the monitoring of the Nodes is suspected."""
    POLICY_UNKNOWN = "PolicyUnknown"
    """The policy cannot be read, and no earlier one is known."""
    MAINTENANCE_WINDOW = "MaintenanceWindow"
    """The policy allows no new remediation at this time."""
    STOPPED = "Stopped"
    """A person set the global stop for the cluster."""
    DISABLED = "Disabled"
    """The check has the condition Disabled, because of its context."""
    UPGRADING = "Upgrading"
    UPGRADE_UNKNOWN = "UpgradeUnknown"
    PAUSED = "Paused"
    EXCLUDED = "Excluded"
    HOLD_ANNOTATION = "HoldAnnotation"
    """A person set the annotation `paramedic.dev/hold` on the check, the target or its Node."""
    NODE_MAINTENANCE = "NodeMaintenance"
    """The Node is under maintenance, by the rules of the policy."""
    OWNER_AT_WORK = "OwnerAtWork"
    """An owner works on the target, by a sign on it; for a limited time."""
    THRESHOLD = "Threshold"
    LIMIT = "Limit"
    """The number of remediations in progress, or begun within the last hour, reached its limit."""
    STORM = "Storm"
    NO_CONTROLLER = "NoController"
    """The target has no owner that would replace it after its deletion."""
    TAKEN = "Taken"
    """Another holder has the Lease of the target."""
    TAKEN_BY_REQUEST = "TakenByRequest"
    """The Lease is free or ours, but a request of another owner for the target exists."""
    CONTROL_PLANE = "ControlPlane"
    """Another control-plane node has the lock, or etcd cannot spare this one."""
    EARLIER_REQUEST = "EarlierRequest"
    STALE_FACTS = "StaleFacts"
    """The facts behind the admission were too old when the step was to be taken."""
    NOT_TRUE = "NotTrue"
    """The revalidation before an act found another state than the admission did."""
    TEMPLATE = "Template"
    REFUSED = "Refused"
    TEMPORAL_REFUSES = "TemporalRefuses"
    """Temporal refuses the incident alone, so the incident asks nothing."""
    BACK_OFF = "BackOff"
    FAILED = "Failed"
    """An attempt to act broke off, so its request may or may not exist; or the answer failed."""
    APPROVAL_REQUIRED = "ApprovalRequired"
    """The next step waits for the approval of a person."""
    STEP_REJECTED = "StepRejected"
    """A person, or the default of the check, rejected the next step."""
    NO_ADMISSION = "NoAdmission"
    """No other hold applies, but the question did not ask to act, or its admission was used."""
    OTHER_VERSION = "OtherVersion"
    """The answer contains a value that this version does not know."""


class Hold(Frozen):
    """A refusal with its reason and the latest time to ask again; a change wakes the incident earlier."""

    reason: OpenEnum[HoldReason]
    """A reason that this version does not know holds like any other."""
    message: ShortText
    ask_again_seconds: float = 30 * 60
    request_error: ShortText | None = None
    """The API server's answer to the creation of a request, if that failed (rule 27)."""
    since: datetime | None = None
    """When it began, with these or earlier words; None until the incident has learned it, and for a hold of a
    check as a whole."""

    @property
    def words(self) -> HoldWords:
        return HoldWords(short=self.reason, full=self.message, since=self.since)

    def asking_again_after(self, seconds: float) -> Self:
        """The same hold, about which the incident asks again after this time at the latest."""
        return self.model_copy(update={"ask_again_seconds": seconds})

    def began_at(self, since: datetime) -> Self:
        return self.model_copy(update={"since": since})

    def of_request(self, error: str) -> Self:
        return self.model_copy(update={"request_error": error})

    def worded(self, message: str) -> Self:
        return self.model_copy(update={"message": message})

    def __str__(self) -> str:
        return str(self.words)


def failed(problem: str, retry_after: timedelta = timedelta()) -> Hold:
    """The hold after an attempt that broke off.

    The incident asks again, because the admission is old by then, and not before `retry_after`.
    """
    message = f"the attempt to act failed: {problem}"
    again = max(FAILED_ASK_AGAIN_SECONDS, retry_after.total_seconds())
    return Hold(reason=HoldReason.FAILED, message=message, ask_again_seconds=again)


NO_ADMISSION = Hold(
    reason=HoldReason.NO_ADMISSION,
    message="nothing holds it; a step needs an admission, which it asks for next",
    ask_again_seconds=1.0,
)


class Observation(Frozen):
    """The detector's answer to the question `observe` of an incident.

    Each field declares its rule: whether a change of it wakes the incident. A change of the check's spec also
    changes `generation`, so the fields that only repeat the spec need not wake.
    """

    state: Annotated[TargetState, WakeRule.IF_ENDED_OTHERWISE, WakeRule.IF_RESTARTED]
    reason: Annotated[ShortText, WakeRule.NEVER]
    subject: Annotated[ShortText, WakeRule.NEVER] = ""
    """The object that `reason` describes, where `reason` does not name it."""
    remaining_seconds: Annotated[float, WakeRule.NEVER] = 0
    """Time until the deadline, in the state Waiting."""
    fact: Annotated[Fact | None, WakeRule.IF_ANOTHER_FACT] = None
    deadline: Annotated[datetime | None, WakeRule.NEVER] = None
    """When the duration of the check is over, or was; None: the target is not unhealthy."""
    counted_from: Annotated[datetime | None, WakeRule.NEVER] = None
    """From when the duration counts; None: the target is not unhealthy."""
    signs_seen: Annotated[tuple[SignSighting, ...], WakeRule.NEVER] = ()
    """Since when the detector sees the signs of owners at work that can hold the target."""
    hold: Annotated[Hold | None, WakeRule.IF_HELD_OTHERWISE] = None
    """Why nothing may be done now. None permits nothing: only `admission` does."""
    admission: Annotated[Admission | None, WakeRule.NEVER] = None
    """The permission to take one step; given only to a question that asked to act."""
    steps: Annotated[tuple[Step, ...], WakeRule.NEVER] = ()
    under_way: Annotated[ShortText, WakeRule.IF_WAS_UNDER_WAY, WakeRule.IF_RECORDED_IN_SHADOW] = ""
    """What was already done to the target, by any actor, and has not finished; "": nothing."""
    is_marked: Annotated[bool, WakeRule.NEVER] = False
    """Whether the target carries a mark for another controller, whether or not the check waits for it."""
    requests: Annotated[
        tuple[RequestSnapshot, ...],
        WakeRule.IF_REQUEST_LOST,
        WakeRule.IF_REMEDIATOR_REPORTS,
        WakeRule.IF_RECORDED_IN_SHADOW,
    ] = ()
    """The requests in the cluster that belong to this incident, including those being deleted."""
    lease_acquired_at: Annotated[datetime | None, WakeRule.IF_LEASE_ACQUIRED_ANEW] = None
    """Since when this check holds the Lease of the target; None: it is not seen to hold it."""
    healthy_delay_seconds: Annotated[float, WakeRule.NEVER] = 0
    """How long the requests of a healthy target are kept; negative: until a person confirms."""
    is_replaced: Annotated[bool, WakeRule.IF_ENDED_OTHERWISE] = False
    """If the target is gone: whether the check selects an object with the same name and another uid."""
    counts_as_healthy: Annotated[bool, WakeRule.ON_CHANGE] = True
    """Whether a target that is not unhealthy also counts as healthy."""
    is_confirmed: Annotated[bool, WakeRule.ON_CHANGE] = False
    """Whether a person confirmed that the target is healthy."""
    earlier_attempts: Annotated[int, WakeRule.NEVER] = 0
    """Number of remediations in a row of this target before this incident."""
    back_off_limit_seconds: Annotated[float, WakeRule.NEVER] = 0
    """The longest wait between two remediations in a row; 0: no wait."""
    generation: Annotated[int, WakeRule.ON_CHANGE] = 0
    """The generation of the check behind this answer."""
    replaced_by: Annotated[str, WakeRule.NEVER] = ""
    """Kind and name of the owner that replaces the target after its deletion; "": none."""
    templates: Annotated[str, WakeRule.IF_ANOTHER_CHANCE] = ""
    """Fingerprint of the templates of the steps; after a change, a failed attempt may be repeated."""
    proven_recovery_seconds: Annotated[float, WakeRule.ON_CHANGE] = 0
    """How long the target must be healthy after a new boot; 0: no proof is required (ADR 38).

    With a proof required, a healthy target also has steps, a hold, and a fact: that it runs since the boot
    that it shows."""
    relapse_seconds: Annotated[float, WakeRule.NEVER] = 0
    """How soon after a remediation a failure goes on with the next step; 0: with the first (ADR 58)."""
    is_new: Annotated[bool, WakeRule.NEVER] = False
    """True if the target was created shortly before the failure, which may be that of an earlier object."""
    boot_id: Annotated[str, WakeRule.IF_RECOVERY_INTERRUPTED] = ""
    """The boot ID of the Node, where recovery is to be proven; "": unknown."""
    last_transition: Annotated[datetime | None, WakeRule.IF_RECOVERY_INTERRUPTED] = None
    """The latest change of a condition that the check uses; if it moved, the target was unhealthy in
    between."""
    is_shadow: Annotated[bool | None, WakeRule.IF_SHADOW_CHANGED] = None
    """Whether the check is in shadow; None: unknown, for example because the check is gone."""
    approval: Annotated[RequiredApproval | None, WakeRule.IF_APPROVAL_CHANGED] = None
    """Which of the steps need the approval of a person; None: no step does."""
    evidence: Annotated[OpenEnum[EvidenceStore] | None, WakeRule.NEVER] = None
    """Where the check wants evidence saved before the first step; None: nowhere."""
    passed_signs: Annotated[tuple[ShortText, ...], WakeRule.NEVER] = ()
    """The signs of owners at work on the target that do not hold it; an act passes them too."""
    answers: Annotated[tuple[AnnotatedAnswer, ...], WakeRule.ON_CHANGE] = ()
    """The answers of people to questions, by annotations on the target or its Node."""
    order: Annotated[RemediationOrder | None, WakeRule.ON_CHANGE] = None
    """The order of a person on the target to remediate it by this check, whether or not it is in force."""
    notifies: Annotated[tuple[WantedEvents, ...], WakeRule.ON_CHANGE] = ()
    """The receivers of notifications in the policy; a new one is notified of incidents that wait already."""
    seen_at: Annotated[datetime | None, WakeRule.NEVER] = None
    """When the detector saw all this, by the clock of the API server."""
    answered_at: Annotated[datetime | None, WakeRule.NEVER] = None
    """When the detector answered, by Temporal's clock."""

    @model_validator(mode="before")
    @classmethod
    def _hold_what_is_not_understood(cls, answer: Any) -> Any:  # noqa: ANN401  as pydantic says
        if not isinstance(answer, dict):
            return answer
        state, steps = answer.get("state"), answer.get("steps")
        is_foreign = isinstance(state, str) and not is_known(state, TargetState)
        foreign = [f"the state {state} of the target"] if is_foreign else []
        for step in steps if isinstance(steps, list) and not is_foreign else ():
            action = step.get("action", "") if isinstance(step, Mapping) else ""
            if isinstance(action, str) and action and not is_known(action, Action):
                foreign.append(f"the action {action} of a step")
        hold = answer.get("hold")
        if foreign:
            hold = hold or {
                "reason": HoldReason.OTHER_VERSION,
                "message": f"the detector is of another version: {', '.join(foreign)} is not known here",
                "ask_again_seconds": OTHER_VERSION_ASK_AGAIN_SECONDS,
            }
            answer = {**answer, "state": TargetState.UNKNOWN if is_foreign else state, "hold": hold}
        return {**answer, "admission": None} if hold else answer

    @property
    def named_reason(self) -> str:
        """The reason prefixed by its subject, for readers who do not see the subject elsewhere."""
        return named_reason(self.subject, self.reason)

    def seen(
        self,
        at: datetime,
        *,
        requests: tuple[RequestSnapshot, ...],
        is_shadow: bool | None,
        notifies: tuple[WantedEvents, ...],
    ) -> Self:
        """The same with the facts that the detector saw in any state of the target."""
        found = {"requests": requests, "is_shadow": is_shadow, "notifies": notifies, "seen_at": at}
        return self.model_copy(update=found)

    def answered(self, at: datetime) -> Self:
        """The same as the answer at this time of Temporal's clock."""
        return self.model_copy(update={"answered_at": at})

    def held_since(self, earlier: Iterable[HoldWords], now: datetime | None) -> Self:
        """The same, whose hold began with the `earlier` hold of its reason, or else `now`; None: unknown."""
        hold = self.hold
        if hold is None or hold.since is not None:
            return self
        known = next((words.since for words in earlier if words.short == hold.reason), None)
        since = known or now
        return self if since is None else self.model_copy(update={"hold": hold.began_at(since)})

    def holds_after(self, earlier: Iterable[HoldWords]) -> tuple[HoldWords, ...]:
        """The holds of its target, by this observation after the `earlier` ones.

        While the state is unknown, an earlier hold may still stand, so that its beginning is kept.
        """
        kept = [*earlier] if self.state is TargetState.UNKNOWN else []
        if self.hold is None or self.hold.reason is HoldReason.NO_ADMISSION:
            return tuple(kept)
        words = self.hold.words
        return (words, *(other for other in kept if other.short != words.short))

    @property
    def is_admitted(self) -> bool:
        return self.admission is not None

    @property
    def may_be_admitted(self) -> bool:
        """True if nothing holds a step: a question that asks to act is admitted unless a limit is reached.

        For a healthy target: if the incident knows the same boot.
        """
        may_be_unproven = self.state is TargetState.HEALTHY and self.proven_recovery_seconds > 0
        is_due = self.state is TargetState.EXPIRED or (may_be_unproven and self.fact is not None)
        return is_due and (self.hold is None or self.hold.reason is HoldReason.NO_ADMISSION)

    def admitted(self, admission: Admission) -> Self:
        passing = admission.model_copy(update={"passed_signs": self.passed_signs})
        return self.model_copy(update={"hold": None, "admission": passing})

    def held_by(self, hold: Hold) -> Self:
        """The same answer, with a hold in place of any permission."""
        return self.model_copy(update={"hold": hold, "admission": None})

    def without_admission(self) -> Self:
        """The same answer without its admission: a step needs a new question. Any other hold stays."""
        return self.held_by(self.hold or NO_ADMISSION)

    @property
    def is_unhealthy(self) -> bool:
        """True if the check calls the target unhealthy, expired or not."""
        return self.state in (TargetState.WAITING, TargetState.EXPIRED)

    def is_outdated(self, now: datetime, fresh: timedelta) -> bool:
        """True if an admission or a running timer is too old to use (rule 4).

        A worker may be down between an answer and the task that reads it. Other facts stay valid until a
        wake.
        """
        if self.answered_at is None:
            return False
        is_timed = self.may_be_admitted or self.state is TargetState.WAITING
        return is_timed and now - self.answered_at >= fresh
