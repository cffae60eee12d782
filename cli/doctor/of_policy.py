"""Findings about the policy: a missing one, or an outage guard that is off."""

from collections.abc import Iterator

from cli.doctor.finding import Finding, note, problem
from health.policy.policy import Policy
from health.policy.policy_document import POLICY
from health.policy.policy_in_force import MISSING


def missing_policy(namespace: str) -> Finding:
    """The policy is required and missing, so every check is held."""
    what = f"{MISSING} in the namespace {namespace}: every check is held"
    advice = "create it again; or set PARAMEDIC_MISSING_POLICY=allow, if no policy is meant to exist"
    return problem("PolicyMissing", what, advice)


def outage_guard_findings(policy: Policy) -> Iterator[Finding]:
    """A note that nodes which become silent all at once are remediated like any others."""
    if policy.outage_guard is None:
        what = "the outage guard is off: nodes that a failing network makes silent all at once are remediated"
        yield note(
            "OutageGuardOff", what, f"consider `outageGuard: {{}}` in the ConfigMap {POLICY} (docs/policy.md)"
        )
