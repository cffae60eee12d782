"""Observation: what the detector answers an incident: the target, the check, and "may I?", at one moment.

These values travel through Temporal, so they are flat: no unions, seconds as numbers, a default for each
field that comes later.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from pydantic import model_validator

from health.model.admission import Admission
from health.model.details import Details, named_reason
from health.model.evidence import EvidenceStore
from health.model.foreign_answer import OTHER_VERSION, understood
from health.model.references import Action, Step
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import Fact
from objects.frozen import Frozen, OpenEnum

FAILED_ASK_AGAIN_SECONDS = 5.0


class TargetState(StrEnum):
    """What the target of an incident is."""

    HEALTHY = "Healthy"
    WAITING = "Waiting"
    EXPIRED = "Expired"
    GONE = "Gone"
    """It was deleted, or an object with another uid took its place."""
    RELEASED = "Released"
    """The check no longer selects it, or the check itself was deleted."""
    UNKNOWN = "Unknown"
    """The detector cannot tell; its hold says why."""


ENDED = frozenset({TargetState.HEALTHY, TargetState.GONE, TargetState.RELEASED})
"""States in which an incident has nothing to do any more but to clean up."""


class HoldReason(StrEnum):
    """Why an incident may not act now."""

    STALE_CACHE = "StaleSight"
    CLOCK_SKEW = "ClockSkew"
    """The clock of the detector, of Temporal or of a workload cluster is off, or was set back: nothing that
    rests on time can be told."""
    NOT_HANDLED = "NotHandled"
    """Checks of its kind are left to somebody else, by a setting."""
    INVALID_CHECK = "InvalidCheck"
    INVALID_TARGET = "InvalidTarget"
    REQUESTS_UNREAD = "RequestsUnread"
    TEMPLATES_UNREAD = "TemplatesUnread"
    CLUSTER_CONTEXT_UNREAD = "SurroundingsUnread"
    """It is not known whether something holds every check."""
    WORKLOAD_CLUSTER_UNREACHABLE = "WorkloadClusterUnreachable"
    """The Nodes of its targets are in another cluster, which cannot be read now."""
    WORKLOAD_CLUSTER_CHANGED = "WorkloadClusterChanged"
    """The Nodes of its targets are read in another cluster than before, under the same name."""
    NODES_VANISHED = "NodesVanished"
    """So many Nodes of Machines vanished together that they are not believed to be gone."""
    SUSPECTED_OUTAGE = "SuspectedOutage"
    """So many Nodes fell silent at once that what sees them is suspected."""
    POLICY_UNKNOWN = "PolicyUnknown"
    """The policy cannot be read, and no earlier one is known."""
    MAINTENANCE_WINDOW = "MaintenanceWindow"
    """By the policy nothing may begin at this time."""
    STOPPED = "Stopped"
    """A person stopped everything in the whole cluster."""
    DISABLED = "Disabled"
    """The context of the check keeps it as a whole from working, as its condition Disabled says."""
    UPGRADING = "Upgrading"
    UPGRADE_UNKNOWN = "UpgradeUnknown"
    PAUSED = "Paused"
    EXCLUDED = "Excluded"
    NODE_MAINTENANCE = "NodeMaintenance"
    """Its Node is being worked on, as the policy reads it."""
    THRESHOLD = "Threshold"
    LIMIT = "Limit"
    """As many remediations are under way, or began within the last hour, as are allowed."""
    STORM = "Storm"
    NO_CONTROLLER = "NoController"
    """Nobody would replace the target if it was deleted."""
    TAKEN = "Taken"
    """Somebody else holds the Lease of the target."""
    TAKEN_BY_REQUEST = "TakenByRequest"
    """Nobody else holds its Lease, but another's request for it is there."""
    CONTROL_PLANE = "ControlPlane"
    """Another control-plane node has the lock, or etcd can't spare this one."""
    EARLIER_REQUEST = "EarlierRequest"
    STALE_FACTS = "StaleFacts"
    """What admitted an act was seen too long before it."""
    NOT_TRUE = "NotTrue"
    """The revalidation before an act found something else than what was admitted."""
    TEMPLATE = "Template"
    REFUSED = "Refused"
    BACK_OFF = "BackOff"
    FAILED = "Failed"
    """An attempt to act broke off (nobody knows whether its request exists), or the making of an answer."""
    NO_ADMISSION = "NoAdmission"
    """Nothing else holds it, but its question did not ask to act, or its admission was used."""
    OTHER_VERSION = OTHER_VERSION
    """The answer says what this version does not know."""


class Hold(Frozen):
    """A "no" with its reason, and when to ask again at the latest (a change wakes the incident earlier)."""

    reason: OpenEnum[HoldReason]
    """One that this version does not know holds like any other."""
    message: str
    ask_again_seconds: float = 30 * 60
    request_error: str = ""
    """What was answered to the creation of a request, if that is what failed (rule 27)."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def failed(problem: str, retry_after: timedelta = timedelta()) -> Hold:
    """After an attempt that broke off: ask anew, what admitted it is old by then; no earlier than told."""
    message = f"the attempt to act failed: {problem}"
    again = max(FAILED_ASK_AGAIN_SECONDS, retry_after.total_seconds())
    return Hold(reason=HoldReason.FAILED, message=message, ask_again_seconds=again)


NO_ADMISSION = Hold(
    reason=HoldReason.NO_ADMISSION,
    message="nothing holds it; a step needs an admission, which it asks for next",
    ask_again_seconds=1.0,
)


class Observation(Frozen):
    """The answer to `observe`."""

    state: TargetState
    reason: str
    subject: str = ""
    """What `reason` is said of, where it does not name that itself."""
    remaining_seconds: float = 0
    """While waiting: how long until the deadline."""
    fact: Fact | None = None
    hold: Hold | None = None
    """Why nothing may be done now; None is no permission: that is an admission."""
    admission: Admission | None = None
    """The permission to take one step; only a question that asked to act is answered with one."""
    steps: tuple[Step, ...] = ()
    under_way: str = ""
    """What was done to the target already, by whomever, whose end is to be awaited; "" if nothing was."""
    is_marked: bool = False
    """Whether the target is marked for another controller, awaited or not."""
    requests: tuple[RequestSnapshot, ...] = ()
    """The requests in the cluster that belong to this incident, those being deleted included."""
    lease_acquired_at: datetime | None = None
    """Since when this check holds the Lease of the target; None where it does not, as far as is seen."""
    healthy_delay_seconds: float = 0
    """How long the requests of a healthy target are kept; negative: until a person confirms."""
    is_replaced: bool = False
    """Of a target that is gone: whether the check selects an object of its name with another uid."""
    counts_as_healthy: bool = True
    """Whether a target that is not unhealthy counts as healthy, too."""
    is_confirmed: bool = False
    """Whether a person confirmed that the target is healthy."""
    earlier_attempts: int = 0
    """Remediations of this target in a row before this incident."""
    back_off_limit_seconds: float = 0
    """The longest wait between two remediations in a row; 0: none."""
    generation: int = 0
    """The generation of the check that was judged by."""
    replaced_by: str = ""
    """Kind and name of what makes another target when this one is deleted; "" if nothing does."""
    templates: str = ""
    """Stands for what the templates of its steps say now; another one is another attempt's chance."""
    proven_recovery_seconds: float = 0
    """For how long the target must be healthy after another boot; 0: to be healthy is enough (ADR 38).

    Then a healthy target, too, has steps, a hold, and a fact: that it runs since the boot that it shows."""
    boot_id: str = ""
    """That of its Node, where recovery is to be proven; "": nobody can tell."""
    last_transition: datetime | None = None
    """When the latest of the conditions changed that it is judged by: healthy with another one is a gap."""
    is_shadow: bool | None = None
    """Whether nothing may be written for the check; None: nobody can tell, as where the check is gone."""
    evidence: OpenEnum[EvidenceStore] | None = None
    """Where the check wants evidence to be saved before the first step; None: nowhere."""
    seen_at: datetime | None = None
    """When the detector saw all this, by the API server's clock."""
    answered_at: datetime | None = None
    """When it was answered, by Temporal's clock."""

    @model_validator(mode="before")
    @classmethod
    def _hold_what_is_not_understood(cls, answer: Any) -> Any:  # noqa: ANN401  as pydantic says
        if not isinstance(answer, dict):
            return answer
        known = understood(answer, TargetState, Action, otherwise=TargetState.UNKNOWN)
        return {**known, "admission": None} if known.get("hold") else known

    @property
    def named_reason(self) -> str:
        """The reason with the name of what it is said of."""
        return named_reason(self.subject, self.reason)

    def details(self, *more: str, order: str = "", held: str | None = None) -> Details:
        """What was seen, as the first part of the details of a move."""
        return Details(subject=self.subject, reason=self.reason, order=order, held=held, more=more)

    @property
    def is_admitted(self) -> bool:
        """Whether this permits a step."""
        return self.admission is not None

    @property
    def may_be_admitted(self) -> bool:
        """Whether nothing holds a step: a question that asks to act is admitted, unless a limit is reached.

        Of a healthy target: if the incident knows of the same boot.
        """
        may_be_unproven = self.state is TargetState.HEALTHY and self.proven_recovery_seconds > 0
        is_due = self.state is TargetState.EXPIRED or (may_be_unproven and self.fact is not None)
        return is_due and (self.hold is None or self.hold.reason is HoldReason.NO_ADMISSION)

    def admitted(self, admission: Admission) -> Self:
        """The same as an answer that permits a step."""
        return self.model_copy(update={"hold": None, "admission": admission})

    def held_by(self, hold: Hold) -> Self:
        """The same as an answer that permits nothing."""
        return self.model_copy(update={"hold": hold, "admission": None})

    def without_admission(self) -> Self:
        """The same where a step needs a question first that asks to act; any other hold stays."""
        return self.held_by(self.hold or NO_ADMISSION)

    @property
    def is_unhealthy(self) -> bool:
        """Whether the check says so, expired or not."""
        return self.state in (TargetState.WAITING, TargetState.EXPIRED)

    def is_outdated(self, now: datetime, fresh: timedelta) -> bool:
        """Whether an admission or a running timer was told too long ago to go by it (rule 4).

        A worker may be down between an answer and the task that reads it. What else was seen stays true
        until a wake says otherwise.
        """
        if self.answered_at is None:
            return False
        is_timed = self.may_be_admitted or self.state is TargetState.WAITING
        return is_timed and now - self.answered_at >= fresh
