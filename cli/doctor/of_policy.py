"""What the policy leaves off that most clusters are better with."""

from collections.abc import Iterator

from cli.doctor.finding import Finding, note
from health.gate.policy import Policy
from health.gate.policy_document import POLICY


def outage_guard_findings(policy: Policy) -> Iterator[Finding]:
    """That nodes which all fall silent at once are remediated like any others."""
    if policy.outage_guard is None:
        what = "the outage guard is off: nodes that a failing network makes silent all at once are remediated"
        yield note(
            "OutageGuardOff", what, f"consider `outageGuard: {{}}` in the ConfigMap {POLICY} (docs/policy.md)"
        )
