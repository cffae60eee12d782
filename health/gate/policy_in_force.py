"""PolicyInForce: by which policy is decided now, where its ConfigMap is edited while we run.

An edit that cannot be taken changes nothing: the last good policy stays, and that there was no ConfigMap is
one, too. Where none is known, as after a restart in the middle of a bad edit, nobody knows what was
forbidden: nothing new is done until the edit is mended (rule 3). A ConfigMap that is deleted leaves the
defaults.
"""

from dataclasses import dataclass, replace

from health.gate.policy import DEFAULTS, Policy
from health.gate.policy_document import InvalidPolicyError, StoredPolicy
from health.model.event import Event, Severity
from health.model.observation import Hold, HoldReason


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

    def after(self, stored: StoredPolicy | None, defaults: Policy) -> "PolicyInForce":
        """What is in force once the ConfigMap is `stored`."""
        if stored is None:
            return PolicyInForce(defaults)
        try:
            return PolicyInForce(stored.over(defaults), stored)
        except InvalidPolicyError as error:
            return self.refused(str(error), stored)

    def refused(self, why: str, stored: StoredPolicy | None = None) -> "PolicyInForce":
        """What is in force once the ConfigMap is one that cannot be taken."""
        return replace(self, stored=stored, rejection=why)

    @property
    def hold(self) -> Hold | None:
        """Why nothing new may be done: nobody knows what was forbidden."""
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
        """What is told of the ConfigMap as it is, where there is one."""
        reason = "PolicyRefused" if self.rejection else "PolicyTaken"
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
        if not self.rejection:
            return "The policy is in force."
        kept = "the last good policy stays in force" if self.is_known else "nothing new is remediated"
        return f"{self.rejection}: until that is mended, {kept}."


NO_OBJECT = PolicyInForce()
"""Where there is no ConfigMap, and no setting says anything else."""
UNREAD = PolicyInForce(is_known=False, rejection="it was not read yet")
"""Before anybody has looked."""
