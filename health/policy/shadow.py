"""Shadow: everything is done for a check except writing (ADR 31).

An annotation on the check turns it on, or the policy for all checks. If either cannot be read, as after a
restart during an invalid edit of the policy, the check is in shadow.
"""

from collections.abc import Mapping

from health.policy.policy_in_force import PolicyInForce

SHADOW = "paramedic.dev/shadow"
OFF = "false"


def is_in_shadow(annotations: Mapping[str, str], policy: PolicyInForce) -> bool:
    """True if nothing may be written for the check with these annotations, which may be unreadable."""
    return policy.is_shadow or annotations.get(SHADOW, OFF) != OFF
