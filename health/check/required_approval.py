"""Required approval: which steps of a check wait for a person, by annotations of check and templates. Pure.

A template can only add the requirement; when a question expires, and what follows, is up to the check. A
template that cannot be read is a problem of the check, so its answer here does not matter.
"""

from collections.abc import Sequence

from health.check.template_validity import TemplateKinds
from health.model.approval import RequiredApproval
from health.model.references import Action, Step
from health.policy.check_choices import CheckChoices


def required_approval(
    choices: CheckChoices, steps: Sequence[Step], kinds: TemplateKinds
) -> RequiredApproval | None:
    """The approval that steps of this check need; None: no step needs one."""
    numbers = (
        number for number, step in enumerate(steps) if choices.require_approval or _is_required(step, kinds)
    )
    required = tuple(numbers)
    if not required:
        return None
    after = choices.approval_expires_after
    return RequiredApproval(
        steps=required,
        expires_after_seconds=after.total_seconds() if after else None,
        default=choices.approval_default,
    )


def _is_required(step: Step, kinds: TemplateKinds) -> bool:
    if step.action is not Action.REQUEST:
        return False
    kind = kinds(step.template.api_version, step.template.kind)
    found = kind.templates.get(kind.place(step.template)) if kind else None
    return found is not None and found.requires_approval
