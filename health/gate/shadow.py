"""Shadow: a check of which everything is done but to write (ADR 31).

By an annotation on the check, or for all checks by the policy. Where either cannot be read, as after a
restart in the middle of a bad edit of the policy, the check is in shadow: what may be forbidden is not done.
"""

from collections.abc import Mapping

from health.gate.policy_in_force import PolicyInForce

SHADOW = "paramedic.dev/shadow"
OFF = "false"


def is_in_shadow(annotations: Mapping[str, str], policy: PolicyInForce) -> bool:
    """Whether nothing may be written for the check with these annotations, which need not be readable."""
    return policy.is_shadow or annotations.get(SHADOW, OFF) != OFF
