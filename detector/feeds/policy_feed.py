"""PolicyFeed: the policy now, from its ConfigMap or from the defaults, and the settings of watches by it."""

from collections.abc import Callable
from dataclasses import dataclass

from detector.feeds.policy_watch import PolicyWatch
from health.policy.policy import CurrentPolicy, Policy
from health.policy.policy_in_force import PolicyInForce
from kube.reflector_settings import ReflectorSettings


@dataclass(frozen=True, kw_only=True)
class PolicyFeed:
    """The policy of one detector, with or without a ConfigMap."""

    defaults: CurrentPolicy
    """The policy without a ConfigMap."""
    watch: PolicyWatch | None
    """None: there is no ConfigMap."""
    reflectors_for: Callable[[Policy], ReflectorSettings]

    def current(self) -> Policy:
        return self.defaults() if self.watch is None else self.watch.current()

    def look(self) -> PolicyInForce:
        """Read the cached ConfigMap; returns the policy in force."""
        return PolicyInForce(policy=self.defaults()) if self.watch is None else self.watch.look()

    def reflectors(self) -> ReflectorSettings:
        """The settings of each reflector: a cache is confirmed within the limit of the policy."""
        return self.reflectors_for(self.current())
