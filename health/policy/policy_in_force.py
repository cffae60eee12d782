"""PolicyInForce: the policy that applies now, while its ConfigMap may be edited at any time.

An invalid edit changes nothing: the last valid policy stays in force, which may be the one without a
ConfigMap. Without a known valid policy, as after a restart during an invalid edit, the forbidden actions are
unknown, so nothing new is done until the ConfigMap is repaired (rule 3).

Deleting the ConfigMap restores the defaults. If a policy is required, a deleted or blank ConfigMap holds
every check until it is back (rule 51), and the last valid policy supplies the other values.

In shadow everything is done for a check except writing (ADR 31). An annotation on the check turns it on, or
the policy for all checks. If either cannot be read, as after a restart during an invalid edit of the policy,
the check is in shadow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from health.model.observation import Hold, HoldReason
from health.policy.policy import DEFAULTS, KEY, POLICY, InvalidPolicyError, Policy, StoredPolicy
from objects.event import Event, Severity

SHADOW, OFF = "paramedic.dev/shadow", "false"
MISSING = f"The ConfigMap {POLICY} with the key {KEY} is required and missing"
MISSING_POLICY = Hold(reason=HoldReason.POLICY_UNKNOWN, message=f"{MISSING[0].lower()}{MISSING[1:]}")
"""Holds every check and every act (rule 51)."""


@dataclass(frozen=True, kw_only=True)
class PolicyInForce:
    """The policy at one moment, with the state of its ConfigMap."""

    policy: Policy = DEFAULTS
    stored: StoredPolicy | None = None
    """The ConfigMap as it is, valid or not; None: there is none."""
    rejection: str | None = None
    """Why it is invalid; None: it is valid."""
    is_known: bool = True
    """Whether `policy` comes from a valid source; otherwise it is the defaults."""
    is_required: bool = False
    """Whether a missing policy holds every check."""
    is_missing: bool = False
    """Whether a policy is required and missing."""

    def after(self, stored: StoredPolicy | None, defaults: Policy) -> "PolicyInForce":
        if self.is_required and (stored is None or stored.is_blank):
            return replace(self, stored=stored, rejection=MISSING, is_missing=True)
        if stored is None:
            return PolicyInForce(policy=defaults, is_required=self.is_required)
        try:
            return PolicyInForce(policy=stored.over(defaults), stored=stored, is_required=self.is_required)
        except InvalidPolicyError as error:
            return self.refused(str(error), stored)

    def refused(self, why: str, stored: StoredPolicy | None = None) -> "PolicyInForce":
        """The policy in force once the ConfigMap is invalid."""
        return replace(self, stored=stored, rejection=why, is_missing=False)

    @property
    def hold(self) -> Hold | None:
        """The hold while the policy is missing or unknown."""
        if self.is_missing:
            return MISSING_POLICY
        if self.is_known:
            return None
        message = f"the policy cannot be read, and no earlier one is known: {self.rejection}"
        return Hold(reason=HoldReason.POLICY_UNKNOWN, message=message)

    @property
    def is_shadow(self) -> bool:
        return self.policy.shadow or not self.is_known

    @property
    def event(self) -> Event:
        """The Event about the ConfigMap, or about its absence where it is required."""
        reason = "PolicyRefused" if self.rejection else "PolicyTaken"
        reason = "PolicyMissing" if self.is_missing else reason
        version = self.stored.metadata.resource_version if self.stored else ""
        return Event(
            seed="\n".join((version, reason, str(self.is_known))),
            severity=Severity.WARNING if self.rejection else Severity.NORMAL,
            reason=reason,
            message=self.words,
        )

    @property
    def words(self) -> str:
        if self.is_missing:
            return f"{self.rejection}: until it is back, nothing new is remediated."
        if not self.rejection:
            return "The policy is in force."
        kept = "the last good policy stays in force" if self.is_known else "nothing new is remediated"
        return f"{self.rejection}: until that is fixed, {kept}."


NO_OBJECT = PolicyInForce()
"""The state without a ConfigMap and without settings."""
UNREAD = PolicyInForce(is_known=False, rejection="it was not read yet")
"""The state before the first read."""


def is_in_shadow(annotations: Mapping[str, str], policy: PolicyInForce) -> bool:
    """True if nothing may be written for the check with these annotations, which may be unreadable."""
    return policy.is_shadow or annotations.get(SHADOW, OFF) != OFF
