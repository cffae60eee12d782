"""Approval: the question of an incident whether a person approves one step, and the answer to it.

Checks and templates say which steps need one (`health.gate.approval_hold`), and
`health.runbook.learn` has the rules.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Self

from health.model.annotations import APPROVE, REJECT
from health.model.details import HoldWords
from health.model.order import OrderRecord
from health.model.references import Action, Step, TemplateReference
from health.model.verdict import Fact
from objects.frozen import Frozen, OpenEnum
from objects.short_text import ShortText
from objects.timestamps import stamp

HOLDS_GOOD_FOR = timedelta(hours=1)
"""How long an approval permits its step if the check says nothing."""


class ApprovalDefault(StrEnum):
    """The consequence of a question that expires without an answer."""

    HOLD = "hold"
    """The question stays, and the step is not taken."""
    APPROVE = "approve"
    REJECT = "reject"


class ApprovalAnswer(StrEnum):
    """The answer of a person, or of the default."""

    APPROVED = "Approved"
    REJECTED = "Rejected"


_BY_DEFAULT: Mapping[str, str] = {
    ApprovalDefault.APPROVE: "it is approved",
    ApprovalDefault.REJECT: "it is rejected",
}


class RequiredApproval(Frozen):
    """Which steps of an observation need an approval, and when a question expires."""

    steps: tuple[int, ...] = ()
    """The indices of the steps that need an approval."""
    resource: ShortText = ""
    """The target as `kubectl annotate` names it."""
    versions: tuple[str, ...] = ()
    """The fingerprint of the template of each of these steps; "": the step has none, or it is unknown."""
    expires_after_seconds: float | None = None
    """The time for an answer; None: the question does not expire."""
    default: OpenEnum[ApprovalDefault] = ApprovalDefault.HOLD
    """A default that this version does not know holds."""

    def expires_at(self, counts_from: datetime | None) -> datetime | None:
        after = self.expires_after_seconds
        return None if after is None or counts_from is None else counts_from + timedelta(seconds=after)

    def version_of(self, step: int) -> str:
        """The fingerprint of the template of this step; "": it is unknown."""
        return dict(zip(self.steps, self.versions, strict=False)).get(step, "")

    @property
    def holds_good_for(self) -> timedelta:
        """How long an approval permits the step."""
        after = self.expires_after_seconds
        return HOLDS_GOOD_FOR if after is None else timedelta(seconds=after)


class Approval(Frozen):
    """One question, for one step of one failure."""

    step: Step
    id: str | None = None
    """A digest of target, step, time, generation and template: no other question has it."""
    resource: ShortText = ""
    """The target as `kubectl annotate` names it."""
    names: tuple[str, ...]
    """The names of the step that mean no other one of the check; the first is the one to show."""
    asked_at: datetime
    counts_from: datetime | None = None
    """From when the time for an answer runs; None: something else holds the step, so that it does not run."""
    fact: Fact | None = None
    generation: int = 0
    """The generation of the check that was asked about."""
    version: str = ""
    """The fingerprint of the template that was asked about; "": unknown."""
    expires_at: datetime | None = None
    default: OpenEnum[ApprovalDefault] = ApprovalDefault.HOLD
    is_expired: bool = False
    """True once it expired and the default holds."""
    answer: OpenEnum[ApprovalAnswer] | None = None
    answered_by: ShortText = ""
    """The order that answered it, in words."""
    answered_at: datetime | None = None
    is_reported: bool = False
    """True if the detector got it as it is now, and emitted its Event."""

    @property
    def name(self) -> str:
        return self.names[0]

    def is_for(self, step: Step) -> bool:
        """True for the same step; an edit of its timeout makes no other step of it."""
        return (self.step.action, self.step.template) == (step.action, step.template)

    def answered(self, answer: ApprovalAnswer, by: str, now: datetime) -> Self:
        return self.model_copy(
            update={"answer": answer, "answered_by": by, "answered_at": now, "is_reported": False}
        )

    @property
    def words(self) -> str:
        """The state of the question in one sentence with its times, its deadline first."""
        if self.answer is not None:
            at = f" at {stamp(self.answered_at)}" if self.answered_at else ""
            return f"{self.name} was {self.answer.lower()}{at}, {self.answered_by}"
        end = ""
        if self.expires_at is not None and self.is_expired:
            end = f" (expired at {stamp(self.expires_at)})"
        elif self.expires_at is not None:
            end = f" until {stamp(self.expires_at)} (then {self.default_words or 'it stays held'})"
        command = f"; kubectl annotate --overwrite {self.resource} {APPROVE}={self.id} (or {REJECT})"
        how = command if self.resource else ""
        return f"waits for approval{end}: {self.name}, asked at {stamp(self.asked_at)}{how}"

    @property
    def default_words(self) -> str:
        """The consequence of the end of the question, in words; "": the question stays."""
        return _BY_DEFAULT.get(self.default, "")


class Progress(Frozen):
    """The part of an incident's memory that the detector needs to find the next step."""

    spent: tuple[TemplateReference, ...] = ()
    """Templates that were tried, whether or not their requests still exist."""
    skipped: tuple[str, ...] = ()
    """The uids of requests that count as timed out by a person's order."""
    approval: Approval | None = None
    order_ended: datetime | None = None
    """When the order to remediate the target was given that the incident ended; None: it ended none."""
    standing: tuple[OrderRecord, ...] = ()
    """The orders of people that stand."""
    skips_back_off: bool = False
    """True if the next step skips the back-off, by order of a person."""
    holds: tuple[HoldWords, ...] = ()
    """The holds of the target as it knows them: a new leader learns when each began."""

    def held_by(self, holds: tuple[HoldWords, ...]) -> Self:
        """The same with these holds, which change no answer."""
        return self.model_copy(update={"holds": holds})

    @property
    def unreported(self) -> Approval | None:
        """The question, if no earlier answered question had it as it is now."""
        return None if self.approval is None or self.approval.is_reported else self.approval


def question_id(subject: str, step: Step, asked_at: datetime, generation: int, version: str) -> str:
    """The id of a question, short enough to type."""
    asked = (subject, step.action, str(step.template), asked_at.isoformat(), str(generation), version)
    return sha256("\n".join(asked).encode()).hexdigest()[:8]


def names_of(step: Step, steps: Iterable[Step]) -> tuple[str, ...]:
    """The names that mean this step alone; the first has its kind, and its namespace if it must."""
    if step.action is not Action.REQUEST:
        return (step.action.lower(),)
    others = {name for other in steps if other.template != step.template for name in other.template.names}
    name, with_kind, whole = step.template.names
    return tuple(candidate for candidate in (with_kind, whole, name) if candidate not in others) or (whole,)
