"""LimitScopes: which limits apply to which remediations, as the policy and the checks choose now.

Both may be edited at any time. A change event re-reads a check; each use re-reads the policy. Each question
needs the limits of its check several times, so they are put together once for each check.
"""

from dataclasses import replace
from typing import NamedTuple

from detector.state.check_state import CheckState
from detector.state.cluster_state import ClusterState
from health.model.admission import Admission
from health.model.references import CheckReference
from health.model.target import Target
from health.policy.limits import NO_LIMITS, LimitScope
from health.policy.policy import CurrentPolicy


class _OfCheck(NamedTuple):
    """The limits that apply to remediations of one check."""

    scopes: tuple[LimitScope, ...]
    labels: tuple[str, ...]
    """The names of the labels by which they count."""
    admission: Admission
    """The admission of a step that they allow."""


class LimitScopes:
    """The limits of the policy and of checks in one cluster."""

    def __init__(self, cluster_state: ClusterState, policy: CurrentPolicy) -> None:
        self._cluster_state = cluster_state
        self._policy = policy
        self._of_policy = LimitScope(NO_LIMITS, "the policy")
        self._of_checks: dict[CheckReference, LimitScope] = {}
        """The limits of checks that choose any."""
        self._check_states: dict[CheckReference, CheckState] = {}
        self._applied: dict[CheckReference, _OfCheck] = {}
        """The parts of an answer for each check, kept until the next change of any limit."""

    def take_in_policy(self) -> bool:
        """Use the current policy; returns whether its limits changed."""
        before, after = self._of_policy.limits, self._policy().limits
        if after is before:
            return False
        self._of_policy = replace(self._of_policy, limits=after)
        self._applied.clear()
        return before != after

    def take_in_check(self, check: CheckReference) -> bool:
        """Use the current check; returns whether its limits changed."""
        check_state = self._cluster_state.checks.get(check)
        if self._check_states.get(check) is check_state:  # called at each change of each target
            return False
        before, after = self._of_checks.pop(check, None), own_scope(check, check_state)
        self._applied.pop(check, None)
        if check_state is None:
            del self._check_states[check]
        else:
            self._check_states[check] = check_state
        if after is not None:
            self._of_checks[check] = after
        return before != after

    @property
    def are_off(self) -> bool:
        """True if neither the policy nor a check has limits."""
        return self._of_policy.limits.is_off and not self._of_checks

    @property
    def limit_starts(self) -> bool:
        """True if the policy or a check limits the starts per hour."""
        of_checks = any(scope.limits.max_starts_per_hour for scope in self._of_checks.values())
        return bool(self._of_policy.limits.max_starts_per_hour) or of_checks

    def of(self, check: CheckReference) -> tuple[LimitScope, ...]:
        """The limits that apply to remediations of a check; the same tuple until one of them changes."""
        return self._of(check).scopes

    def admission(self, check: CheckReference) -> Admission:
        """The admission of a step that these limits allow."""
        return self._of(check).admission

    def labels(self, check: CheckReference, target: Target) -> dict[str, str | None]:
        """The values of the target's labels by which its limits count."""
        return {name: target.node_label(name) for name in self._of(check).labels}

    def _of(self, check: CheckReference) -> _OfCheck:
        if check in self._applied:
            return self._applied[check]
        own, of_policy = self._of_checks.get(check), self._of_policy.limits
        of_all = () if of_policy.is_off else (self._of_policy,)
        scopes = of_all if own is None else (*of_all, own)
        admission = Admission(
            policy_limits=str(of_policy) or None,
            check_limits=None if own is None else str(own.limits) or None,
        )
        labels = {name for scope in scopes for name in scope.limits.max_in_flight_by_label}
        applied = _OfCheck(scopes, tuple(sorted(labels)), admission)
        if check in self._cluster_state.checks:  # else no change would remove it
            self._applied[check] = applied
        return applied


def own_scope(check: CheckReference, check_state: CheckState | None) -> LimitScope | None:
    """The limits that the annotations of a check choose; None: it chooses none."""
    if check_state is None or check_state.check is None:
        return None
    limits = check_state.check.choices.limits
    return None if limits.is_off else LimitScope(limits, f"the annotations of {check}", check)
