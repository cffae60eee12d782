"""The threshold of a MachineHealthCheck: how many Machines may be unhealthy (A.2.4, decisions 4, 5 and 44).

Remediation is allowed while `unhealthy <= maxUnhealthy`. A share is rounded down; a whole number stands as it
is, also above the number of Machines. All that are not fit use the budget up: those that are being deleted,
have no Node or are marked, and those whose timer still runs.
"""

from health.threshold import Allowance, IntOrPercent


def allowance(max_unhealthy: IntOrPercent, *, total: int, healthy: int) -> Allowance:
    """Whether remediation is allowed while `healthy` of `total` Machines are healthy."""
    required = total - max_unhealthy.floor_of(total)
    return Allowance(allowed=healthy >= required, total=total, healthy=healthy, required=required)


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before nothing is allowed any more."""
    return max(0, decided.healthy - decided.required)
