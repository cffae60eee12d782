"""PolicyFeed: the policy now, from its ConfigMap or from the defaults, and the settings of watches by it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from health.policy.policy import POLICY, CurrentPolicy, Policy, StoredPolicy
from health.policy.policy_in_force import UNREAD, PolicyInForce
from kube.reflector import Reflector
from kube.reflector_settings import PATIENT, ReflectorSettings
from kube.resource import CONFIG_MAPS
from kube.transport import Transport

_log = logging.getLogger(__name__)


def _reflectors_for(policy: Policy) -> ReflectorSettings:
    return PATIENT.proving_life_within(policy.staleness_limit)


class PolicyWatch:
    """The policy in force, from a ConfigMap that is watched by its name while the process lives.

    A policy that cannot be read, or is stale, holds checks as any other source does.
    """

    def __init__(
        self,
        transport: Transport,
        namespace: str,
        defaults: CurrentPolicy,
        changed: Callable[[], None],
        *,
        is_required: bool = False,
    ) -> None:
        """`is_required`: a missing policy holds every check."""
        self._defaults = defaults
        self._in_force = replace(UNREAD, policy=defaults(), is_required=is_required)
        self.source = Reflector(
            transport,
            CONFIG_MAPS,
            StoredPolicy,
            namespace=namespace,
            # A watch by name needs a right to this one ConfigMap only.
            name=POLICY,
            notify=lambda _: changed(),
            settings=lambda: _reflectors_for(self.current()),
        )

    def current(self) -> Policy:
        return self._in_force.policy

    def look(self) -> PolicyInForce:
        """Read the cached ConfigMap; returns the policy in force."""
        if self.source.synced:
            before, self._in_force = self._in_force, self._next()
            _log_change(before, self._in_force)
        return self._in_force

    def _next(self) -> PolicyInForce:
        before = self._in_force
        for problem in self.source.undecodable.values():
            return before.refused(problem)
        stored = next(iter(self.source.store.values()), None)
        if stored is not None and stored is before.stored:
            return before
        return before.after(stored, self._defaults())


def _log_change(before: PolicyInForce, after: PolicyInForce) -> None:
    """Log that the policy was refused or taken."""
    if after.rejection and after.rejection != before.rejection:
        _log.warning("policy refused", extra={"problem": after.words})
    elif not after.rejection and (after.policy != before.policy or before.rejection) and before.is_known:
        _log.info("policy taken", extra={"policy": after.policy})


@dataclass(frozen=True, kw_only=True)
class PolicyFeed:
    """The policy of one detector, with or without a ConfigMap."""

    defaults: CurrentPolicy
    """The policy without a ConfigMap."""
    watch: PolicyWatch | None = None
    """None: there is no ConfigMap."""
    reflectors_for: Callable[[Policy], ReflectorSettings] = _reflectors_for

    def current(self) -> Policy:
        return self.defaults() if self.watch is None else self.watch.current()

    def look(self) -> PolicyInForce:
        """Read the cached ConfigMap; returns the policy in force."""
        return PolicyInForce(policy=self.defaults()) if self.watch is None else self.watch.look()

    def reflectors(self) -> ReflectorSettings:
        """The settings of each reflector: a cache is confirmed within the limit of the policy."""
        return self.reflectors_for(self.current())
