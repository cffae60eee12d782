"""DecisionView: the decision about one target, for people and as JSON (docs/cli-json.md)."""

from datetime import datetime
from typing import Self

from cli.incidents.order_lines import order_words
from detector.inspection.decisions import Decided, TargetDecision
from health.model.observation import Hold, HoldReason
from health.model.order import OrderRecord
from health.runbook.orders import claim_of
from health.runbook.state import Memory
from objects.frozen import Frozen


class DecisionView(Frozen):
    """The decision about one target, with the reason and its numbers."""

    target: str
    decided: Decided
    reason: str
    """The reason of the hold; "" without one."""
    message: str
    requests: tuple[str, ...]
    ordered: OrderRecord | None
    """The order of a person that decides, or blocks the next step; `message` has its words."""
    claimed: OrderRecord | None

    @classmethod
    def of(cls, decision: TargetDecision, now: datetime) -> Self:
        outlook, hold = decision.outlook, decision.hold
        claim = claim_of(outlook.memory)
        return cls(
            target=str(decision.target),
            decided=decision.decided,
            reason=hold.reason if hold else "",
            message=_message(decision, now),
            requests=tuple(map(outlook.memory.words_of, decision.observation.requests)),
            ordered=decision.order,
            claimed=claim,
        )

    @property
    def title(self) -> str:
        """The decision with its reason, in the words by which `check` counts."""
        match self.decided:
            case Decided.WAITS if self.reason:
                return f"{Decided.WAITS}, then held: {self.reason}"
            case Decided.HELD | Decided.UNKNOWN if self.reason:
                return f"{self.decided}: {self.reason}"
            case Decided.REMEDIATING | Decided.EXHAUSTED if self.ordered is not None:
                return f"{self.decided}, and {Decided.HELD_BY_PERSON}"
        return self.decided


def _message(decision: TargetDecision, now: datetime) -> str:
    outlook, hold = decision.outlook, decision.hold
    if decision.order is not None:
        return order_words(decision.order, now)
    if hold is not None:
        return as_known(hold, outlook.memory).message
    if decision.decided is Decided.UNKNOWN:
        return _why_unknown(decision)
    return outlook.words if decision.decided is Decided.HELD else decision.observation.reason


def _why_unknown(decision: TargetDecision) -> str:
    if decision.is_policy_unknown:
        return "whether a limit, a window, back-off or shadow holds it is unknown: the policy is invalid"
    return f"whether a person holds it is unknown: {decision.unknown}"


def as_known(hold: Hold, memory: Memory) -> Hold:
    """The hold; the detector knows the question to people as it was asked, and `memory` its answer or end."""
    is_question = hold.reason in {HoldReason.APPROVAL_REQUIRED, HoldReason.STEP_REJECTED}
    words = approval_words(memory) if is_question else ""
    return hold.model_copy(update={"message": words}) if words else hold


def approval_words(memory: Memory) -> str:
    """The question to people, which does not expire under a hold; "": there is none."""
    approval = memory.approval
    if approval is None:
        return ""
    if memory.held is not None and approval.answer is None and not approval.is_expired:
        approval = approval.model_copy(update={"expires_at": None})
    return approval.words
