"""SameBoot: the fact that a healthy target still runs since a known boot, on which a step may act.

A check may require a new boot ID before a target counts as recovered after a step (ADR 38). The detector
then gives incidents this fact for healthy targets, and an act compares it with the live objects like any
other (rule 2): the setting is still there, the boot ID is the same, and no person confirmed the target.
"""

from typing import Any

from health.check.health_check import HealthCheck
from health.check.ordered import fact_of, is_by_order, order_in_force
from health.cluster.cluster_context import ClusterContext
from health.model.boot import is_same_boot
from health.model.node import facts_of_node
from health.model.target import Target
from health.model.verdict import Fact

SAME_BOOT = "status.nodeInfo.bootID"
"""Takes the place of a condition type, which never has this form."""


def what_tells_a_boot(check: HealthCheck, target: Target) -> dict[str, Any]:
    """Fields of an observation of a `target` whose recovery must be proven; empty otherwise."""
    seconds = proof_seconds(check, target)
    if not seconds:
        return {}
    return {
        "proven_recovery_seconds": seconds,
        "boot_id": facts_of_node(target).boot_id,
        "last_transition": check.last_transition(target),
    }


def proof_seconds(check: HealthCheck, target: Target) -> float:
    """Seconds that `target` must be healthy with a new boot ID; 0: no proof is required.

    A target that the check replaces gets another uid and has nothing to prove.
    """
    chosen = check.choices.proven_recovery
    return 0 if chosen is None or check.replaces(target) else chosen.total_seconds()


def same_boot(check: HealthCheck, target: Target) -> Fact | None:
    """The fact; None for a target without a boot ID."""
    boot, since = facts_of_node(target).boot_id, check.last_transition(target)
    since = since or target.metadata.creation_timestamp
    return Fact(condition=SAME_BOOT, status=boot, since=since) if boot else None


def still_states(check: HealthCheck, fact: Fact, target: Target, context: ClusterContext) -> bool:
    """True if `fact` holds for `target` and justifies a step, by its kind, by an order or by its boot."""
    if is_by_order(fact):
        order = order_in_force(check.reference, target, context)
        return order is not None and fact_of(order) == fact
    if fact.condition != SAME_BOOT:
        return check.still_states(fact, target, context)
    is_asked = proof_seconds(check, target) > 0 and not target.is_confirmed_healthy
    return is_asked and is_same_boot(facts_of_node(target).boot_id, fact.status)
