"""Storm: after a threshold was broken and is satisfied again, new requests wait for a cooldown (NHC 2.3).

    threshold  storm    cooldown          what follows
    holds      none     -                 nothing: new requests are allowed                          (row 1)
    broken     none     -                 the storm begins, if the threshold holds a target back     (row 2)
    broken     active   any               a cooldown that runs is cleared                            (row 3)
    holds      active   none              the cooldown begins                                        (row 4)
    holds      active   not over          nothing                                                    (row 5)
    holds      active   over              the storm ends; new requests are allowed at once           (row 6)
    any        any      none in the spec  the storm is forgotten, with its conditions         (rule 20)

Further rules:
- A storm begins only when the threshold holds a target whose deadline has passed. Running timers change the
  numbers, but no target would be remediated yet, and the NodeHealthCheck operator decides no earlier. A check
  that is held as a whole (paused, disabled) holds its targets itself, so no storm begins there either.
- In an active storm only the numbers decide: targets with running timers break the threshold too.
- While no target is unhealthy the threshold counts as satisfied, even if it requires more targets than there
  are; so a storm also ends when all targets recover (rule 20).
- The cooldown starts at the transition of its condition. Times are whole seconds, as in conditions, so that
  a restart changes no decision; the cooldown is one second longer, because it could otherwise be too short.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from health.check.threshold import Allowance
from health.model.observation import Hold, HoldReason
from objects.durations import JUST_AFTER, in_words
from objects.timestamps import stamp

PRECISION = timedelta(seconds=1)
"""The precision of times in conditions."""


@dataclass(frozen=True)
class Storm:
    """The latest storm of a check, active or over; None stands for a check that never had one."""

    is_active: bool
    turned: datetime
    """When it became active, or ended."""
    is_cooling: bool
    """Whether the cooldown runs; only in an active storm."""
    cooldown_turned: datetime
    """When the cooldown started or stopped."""

    def ends(self, cooldown: timedelta) -> datetime:
        """When the storm ends, if the running cooldown is not cleared."""
        return self.cooldown_turned + cooldown + PRECISION


def after(
    storm: Storm | None, allowance: Allowance, cooldown: timedelta | None, *, holds_back: bool, now: datetime
) -> Storm | None:
    """The storm at `now`; `holds_back`: the threshold keeps a target from being remediated."""
    if cooldown is None:
        return None
    second = now.replace(microsecond=0)
    if storm is None or not storm.is_active:
        if not holds_back or allowance.allowed:
            return storm
        # A condition that already says "not cooling down" keeps its time.
        cooldown_turned = second if storm is None else storm.cooldown_turned
        return Storm(is_active=True, turned=second, is_cooling=False, cooldown_turned=cooldown_turned)
    if not allowance.allowed and allowance.healthy < allowance.total:
        return replace(storm, is_cooling=False, cooldown_turned=second) if storm.is_cooling else storm
    if not storm.is_cooling:
        return replace(storm, is_cooling=True, cooldown_turned=second)
    if now < storm.ends(cooldown):
        return storm
    return Storm(is_active=False, turned=second, is_cooling=False, cooldown_turned=second)


def storm_hold(storm: Storm | None, cooldown: timedelta | None, now: datetime) -> Hold | None:
    if storm is None or not storm.is_active or cooldown is None:
        return None
    since = f"storm recovery since {stamp(storm.turned)}"
    if not storm.is_cooling:
        message = f"{since}, until the threshold was held for {in_words(cooldown)}"
        return Hold(reason=HoldReason.STORM, message=message)
    ends = storm.ends(cooldown)
    return Hold(
        reason=HoldReason.STORM,
        message=f"{since}, until {stamp(ends)} at the earliest",
        ask_again_seconds=max(1.0, (ends - now + JUST_AFTER).total_seconds()),
    )
