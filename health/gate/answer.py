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
from health.model.boot import is_same_boot
from health.model.observation import NO_ADMISSION, Hold, HoldReason, Observation, TargetState

Admit = Callable[[], Admission | Hold]
"""Reserves a slot for the step; or says which limit is reached."""


def answered(observation: Observation, intent: Intent, admit: Admit) -> Observation:
    """The answer to a question with this intent; calls `admit` once at most."""
    if observation.is_shadow:
        return observation
    hold, state = observation.hold, observation.state
    reason = None if hold is None else hold.reason
    if hold is not None and reason is HoldReason.LIMIT and not intent.would_act:
        # The queue passes over an incident that would not act, so that it waits for no turn. It asks again:
        # shadow, or the back-off after a failed act, may have ended since it asked.
        seconds = NO_ADMISSION.ask_again_seconds
        return observation.held_by(hold.asking_again_after(seconds))
    skips_back_off = intent.skips_back_off and reason is HoldReason.BACK_OFF and state is TargetState.EXPIRED
    if not (observation.may_be_admitted or skips_back_off):
        return observation
    # A healthy target is acted on only where the incident knows that it did not boot.
    is_unproven = is_same_boot(observation.boot_id, intent.unproven_boot)
    if not intent.would_act or (state is TargetState.HEALTHY and not is_unproven):
        return observation.without_admission()
    outcome = admit()
    return observation.held_by(outcome) if isinstance(outcome, Hold) else observation.admitted(outcome)
