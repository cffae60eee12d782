"""Admission: the permission to take one step, and the intent of the question that it answers.

The detector admits only a question that asks to act. The admission names the limits under which it reserved
a slot for the step; `act` compares them with the limits that apply to the check at that moment.
"""

from objects.frozen import Frozen


class Admission(Frozen):
    """Permission to take one step, with a reserved slot where limits apply to the check."""

    policy_limits: str | None = None
    """The limits of the policy that the slot was reserved under; None: the policy has none."""
    check_limits: str | None = None
    """The limits in the annotations of the check that the slot was reserved under; None: it has none."""
    passed_signs: tuple[str, ...] = ()
    """The signs of owners at work that the step passes, for example because their time is over."""

    def __str__(self) -> str:
        chosen = {"the policy": self.policy_limits, "the check": self.check_limits}
        words = [f"{limits} by {chosen_by}" for chosen_by, limits in chosen.items() if limits]
        return ", ".join(words) or "no limit"


class Intent(Frozen):
    """The incident's intent, as its question states it."""

    would_act: bool = True
    """False in shadow, while held or left alone, and during the back-off after a failed act."""
    skips_back_off: bool = False
    """Whether a person ordered the incident to skip the back-off between remediations."""
    unproven_boot: str | None = None
    """The incident would act on a healthy target that still shows this boot ID; None: on none."""
