"""Answer: what the detector answers to a question of an incident. Pure (ADR 40).

| what is seen                           | the question     | the answer                         |
|----------------------------------------|------------------|------------------------------------|
| the check is in shadow                 | any              | what is seen, without an admission |
| a limit alone holds it                 | would not act    | that limit, for a second           |
| something else holds the step          | any              | that hold                          |
| back-off alone holds it                | skips back-off   | an admission, or a limit           |
| nothing holds it                       | would not act    | the hold `NoAdmission`             |
| nothing holds it                       | would act        | an admission, or a limit           |

An answer never has a hold and an admission. Workers that know no admission read an answer without a hold as
one, so a question that would not act is answered with a hold.
"""

from collections.abc import Callable

from health.model.admission import Admission, Intent
from health.model.observation import NO_ADMISSION, Hold, HoldReason, Observation, TargetState

Admit = Callable[[], Admission | Hold]
"""Reserves a slot for the step; or says which limit is reached."""


def answered(seen: Observation, intent: Intent, admit: Admit) -> Observation:
    """The answer to a question with this intent; calls `admit` once at most."""
    if seen.is_shadow:
        return seen
    if seen.hold is not None and seen.hold.reason is HoldReason.LIMIT and not intent.would_act:
        return seen.held_by(_for_a_second(seen.hold))
    if not (seen.may_be_admitted or _skips_back_off(seen, intent)):
        return seen
    if not _would_act(seen, intent):
        return seen.without_admission()
    outcome = admit()
    return seen.held_by(outcome) if isinstance(outcome, Hold) else seen.admitted(outcome)


def _for_a_second(limit: Hold) -> Hold:
    """The queue passes over an incident that would not act, so that it waits for no turn: it asks again.

    Shadow, or the back-off after a failed act, may have ended since it asked.
    """
    return limit.model_copy(update={"ask_again_seconds": NO_ADMISSION.ask_again_seconds})


def _skips_back_off(seen: Observation, intent: Intent) -> bool:
    is_back_off = seen.hold is not None and seen.hold.reason is HoldReason.BACK_OFF
    return intent.skips_back_off and is_back_off and seen.state is TargetState.EXPIRED


def _would_act(seen: Observation, intent: Intent) -> bool:
    """A healthy target is acted on only where the incident knows that it did not boot."""
    is_unproven = bool(seen.boot_id) and seen.boot_id == intent.unproven_boot
    return intent.would_act and (seen.state is not TargetState.HEALTHY or is_unproven)
