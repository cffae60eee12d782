"""SameBoot: that a healthy target still runs since the boot that it shows, as a fact that may be acted on.

A check may choose that after a step to be healthy counts only with another boot ID (ADR 38). Then the
detector tells incidents this fact of targets that are healthy, and an act compares it with the live objects
as any other (rule 2): the choice stands, the boot ID is the same, and no person confirmed the target.
"""

from datetime import datetime
from typing import Any

from health.gate.cluster_context import ClusterContext
from health.gate.health_check import HealthCheck
from health.model.target import Target
from health.model.verdict import Fact

SAME_BOOT = "status.nodeInfo.bootID"
"""Stands where other facts have the type of a condition, which never looks like this."""


def what_tells_a_boot(check: HealthCheck, target: Target) -> dict[str, Any]:
    """What an observation says of `target` where its recovery is to be proven; nothing where it is not."""
    seconds = proof_seconds(check, target)
    if not seconds:
        return {}
    return {
        "proven_recovery_seconds": seconds,
        "boot_id": target.boot_id,
        "last_transition": check.last_transition(target),
    }


def proof_seconds(check: HealthCheck, target: Target) -> float:
    """For how long `target` must be healthy with another boot ID; 0: that is not asked.

    What the check has replaced has another uid in the end, and nothing to prove.
    """
    chosen = check.choices.proven_recovery
    return 0 if chosen is None or check.replaces(target) else chosen.total_seconds()


def same_boot(check: HealthCheck, target: Target) -> Fact | None:
    """The fact; None of a target that shows no boot ID."""
    if not target.boot_id:
        return None
    since: datetime = check.last_transition(target) or target.metadata.creation_timestamp
    return Fact(condition=SAME_BOOT, status=target.boot_id, since=since)


def still_states(check: HealthCheck, fact: Fact, target: Target, context: ClusterContext) -> bool:
    """Whether `fact` is true of `target`, and a reason to act: by the rules of its kind, or of a boot."""
    if fact.condition != SAME_BOOT:
        return check.still_states(fact, target, context)
    is_asked = proof_seconds(check, target) > 0 and not target.is_confirmed_healthy
    return is_asked and target.boot_id == fact.status
