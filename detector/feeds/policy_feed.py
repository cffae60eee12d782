"""PolicyFeed: the policy in force, from its ConfigMap or the defaults, and the settings of watches."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from detector.feeds.source import Source
from health.policy.policy import POLICY, CurrentPolicy, Policy, StoredPolicy
from health.policy.policy_in_force import UNREAD, PolicyInForce
from kube.reflector import Reflector
from kube.reflector_settings import PATIENT, ReflectorSettings
from kube.resource import CONFIG_MAPS
from kube.transport import Transport

_proving_life_within = lru_cache(maxsize=1)(PATIENT.proving_life_within)
_log = logging.getLogger(__name__)


class PolicyFeed:
    """The policy of one detector; its ConfigMap is watched by its name while the process lives.

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
        """`defaults` is the policy without a ConfigMap; `is_required`: a missing policy holds every check."""
        self._defaults = defaults
        self._in_force = replace(UNREAD, policy=defaults(), is_required=is_required)
        self._reflector = Reflector(
            transport,
            CONFIG_MAPS,
            StoredPolicy,
            namespace=namespace,
            # A watch by name needs a right to this one ConfigMap only.
            name=POLICY,
            notify=lambda _: changed(),
            settings=self.reflectors,
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self._reflector,)

    def current(self) -> Policy:
        return self._in_force.policy

    def reflectors(self) -> ReflectorSettings:
        """The settings of each reflector: a cache is confirmed within the limit of the policy."""
        return _proving_life_within(self.current().staleness_limit)

    def look(self) -> PolicyInForce:
        """Read the cached ConfigMap; returns the policy in force."""
        if not self._reflector.synced:
            return self._in_force
        before, problem = self._in_force, next(iter(self._reflector.undecodable.values()), None)
        stored = next(iter(self._reflector.store.values()), None)
        if problem is not None:
            self._in_force = before.refused(problem)
        elif stored is None or stored is not before.stored:
            self._in_force = before.after(stored, self._defaults())
        after = self._in_force
        if after.rejection and after.rejection != before.rejection:
            _log.warning("policy refused", extra={"problem": after.words})
        elif not after.rejection and (after.policy != before.policy or before.rejection) and before.is_known:
            _log.info("policy taken", extra={"policy": after.policy})
        return after
