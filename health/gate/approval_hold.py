"""ApprovalHold: the hold of a next step that waits for the approval of a person, or that one rejected. Pure.

| the due step        | the incident asked for it and | hold                                               |
|---------------------|-------------------------------|----------------------------------------------------|
| needs no approval   | has no answer, or is approved | none                                               |
| needs an approval   | is approved                   | none                                               |
| needs an approval   | has no answer                 | `ApprovalRequired`, until a person answers         |
| needs an approval   | did not ask yet               | `ApprovalRequired`, until it has asked             |
| any                 | is rejected                   | `StepRejected`                                     |

An answer that this version does not know is none.
"""

from collections.abc import Sequence

from health.model.approval import Approval, ApprovalAnswer, RequiredApproval, names_of
from health.model.observation import Hold, HoldReason
from health.model.references import Step

NOT_ASKED_AGAIN_SECONDS = 5.0
"""The incident asks a person as soon as it knows the hold; its next question reports that."""


def approval_hold(
    required: RequiredApproval | None, steps: Sequence[Step], due: int | None, asked: Approval | None
) -> Hold | None:
    """The hold of the step with the index `due`; `asked` is the latest question of the incident."""
    if due is None:
        return None
    step = steps[due]
    answered = asked if asked is not None and asked.is_for(step) else None
    if answered is not None and answered.answer is ApprovalAnswer.REJECTED:
        return Hold(reason=HoldReason.STEP_REJECTED, message=answered.words)
    if required is None or due not in required.steps:
        return None
    if answered is None:
        message = f"{names_of(step, steps)[0]} needs the approval of a person"
        return _required(message, NOT_ASKED_AGAIN_SECONDS)
    return None if answered.answer is ApprovalAnswer.APPROVED else _required(answered.words)


def _required(message: str, again_seconds: float = 30 * 60) -> Hold:
    return Hold(reason=HoldReason.APPROVAL_REQUIRED, message=message, ask_again_seconds=again_seconds)
