"""Admission: the permission to take one step, and the intent of the question that it answers.

The detector gives an admission to a question that asks to act, and to no other. It names the limits under
which it keeps a slot for the step; `act` compares them with the limits that bear on the check at that moment.
"""

from objects.frozen import Frozen


class Admission(Frozen):
    """One step may be taken; where limits bear on the check, a slot is reserved for it."""

    policy_limits: str = ""
    """The limits of the policy that the slot was reserved under; "": the policy has none."""
    check_limits: str = ""
    """The same of the annotations of the check."""

    def __str__(self) -> str:
        chosen = {"the policy": self.policy_limits, "the check": self.check_limits}
        words = [f"{limits} by {chosen_by}" for chosen_by, limits in chosen.items() if limits]
        return ", ".join(words) or "no limit"


class Intent(Frozen):
    """What an incident would do with an admission, as its question says."""

    would_act: bool = True
    """False while it is in shadow, held, left alone, or backs off after an act that failed."""
    skips_back_off: bool = False
    """Whether a person ordered it not to wait for the back-off of remediations."""
    unproven_boot: str = ""
    """It would act on a healthy target that still shows this boot ID; "": on no healthy target."""
