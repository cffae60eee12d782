"""PolicyInForce: by which policy is decided now, where its ConfigMap is edited while we run.

An edit that cannot be taken changes nothing: the last good policy stays, and that there was no ConfigMap is
one, too. Where none is known, as after a restart in the middle of a bad edit, nobody knows what was
forbidden: nothing new is done until the edit is mended (rule 3).

A ConfigMap that is deleted leaves the defaults. Where a policy is required, a ConfigMap that is deleted, or
blank, holds every check until it is back (rule 51); the last good policy says all else meanwhile.
"""

from dataclasses import dataclass, replace

from health.gate.policy import DEFAULTS, Policy
from health.gate.policy_document import KEY, POLICY, InvalidPolicyError, StoredPolicy
from health.model.event import Event, Severity
from health.model.observation import Hold, HoldReason

MISSING = f"The ConfigMap {POLICY} with the key {KEY} is required and missing"
MISSING_POLICY = Hold(reason=HoldReason.POLICY_UNKNOWN, message=f"{MISSING[0].lower()}{MISSING[1:]}")
"""Holds every check, and every act (rule 51)."""


@dataclass(frozen=True)
class PolicyInForce:
    """One moment."""

    policy: Policy = DEFAULTS
    stored: StoredPolicy | None = None
    """The ConfigMap as it is, whether it is taken or not; None: there is none."""
    rejection: str = ""
    """Why that is not taken; "" if it is."""
    is_known: bool = True
    """Whether `policy` was ever good; else it is the defaults, and nobody knows better."""
    is_required: bool = False
    """Whether a missing policy holds every check."""
    is_missing: bool = False
    """Whether a policy is required and there is none now."""

    def after(self, stored: StoredPolicy | None, defaults: Policy) -> "PolicyInForce":
        """What is in force once the ConfigMap is `stored`."""
        if self.is_required and (stored is None or stored.is_blank):
            return replace(self, stored=stored, rejection=MISSING, is_missing=True)
        if stored is None:
            return PolicyInForce(defaults, is_required=self.is_required)
        try:
            return PolicyInForce(stored.over(defaults), stored, is_required=self.is_required)
        except InvalidPolicyError as error:
            return self.refused(str(error), stored)

    def refused(self, why: str, stored: StoredPolicy | None = None) -> "PolicyInForce":
        """What is in force once the ConfigMap is one that cannot be taken."""
        return replace(self, stored=stored, rejection=why, is_missing=False)

    @property
    def hold(self) -> Hold | None:
        """Why nothing new may be done: the policy is missing, or what it forbids is not known."""
        if self.is_missing:
            return MISSING_POLICY
        if self.is_known:
            return None
        message = f"the policy cannot be read, and no earlier one is known: {self.rejection}"
        return Hold(reason=HoldReason.POLICY_UNKNOWN, message=message)

    @property
    def is_shadow(self) -> bool:
        """Whether nothing may be written for any check; where nobody knows, it may not."""
        return self.policy.shadow or not self.is_known

    @property
    def event(self) -> Event:
        """What is told of the ConfigMap as it is, or of its absence where it is required."""
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
        """What became of the ConfigMap as it is, for people."""
        if self.is_missing:
            return f"{self.rejection}: until it is back, nothing new is remediated."
        if not self.rejection:
            return "The policy is in force."
        kept = "the last good policy stays in force" if self.is_known else "nothing new is remediated"
        return f"{self.rejection}: until that is mended, {kept}."


NO_OBJECT = PolicyInForce()
"""Where there is no ConfigMap, and no setting says anything else."""
UNREAD = PolicyInForce(is_known=False, rejection="it was not read yet")
"""Before anybody has looked."""
