"""Approvals: which steps of a check wait for a person, and the hold of a next step that does. Pure.

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

from health.check.template_validity import TemplateKinds
from health.model.approval import Approval, ApprovalAnswer, RequiredApproval, names_of
from health.model.observation import Hold, HoldReason
from health.model.references import Action, Step
from health.policy.check_choices import CheckChoices


def required_approval(
    choices: CheckChoices, steps: Sequence[Step], kinds: TemplateKinds, resource: str
) -> RequiredApproval | None:
    """The approval that steps of this check need for the target `resource`; None: no step needs one.

    A template can only add the requirement; when a question expires, and what follows, is up to the check. A
    template that cannot be read is a problem of the check, so its answer here does not matter.
    """
    required = {}
    for number, step in enumerate(steps):
        named = step.template
        kind = kinds(named.api_version, named.kind) if step.action is Action.REQUEST else None
        template = kind.templates.get(kind.place(named)) if kind else None
        if choices.require_approval or (template is not None and template.requires_approval):
            required[number] = template.version if template else ""
    if not required:
        return None
    after = choices.approval_expires_after
    return RequiredApproval(
        resource=resource,
        steps=tuple(required),
        versions=tuple(required.values()),
        expires_after_seconds=after.total_seconds() if after else None,
        default=choices.approval_default,
    )


NOT_ASKED_AGAIN_SECONDS = 5.0
"""The incident asks a person as soon as it knows the hold; its next question reports that."""


def approval_hold(
    required: RequiredApproval | None, steps: Sequence[Step], due: int | None, approval: Approval | None
) -> Hold | None:
    """The hold of the step with the index `due`; `approval` is the latest question of the incident."""
    if due is None:
        return None
    step = steps[due]
    answered = approval if approval is not None and approval.is_for(step) else None
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
