"""Ordered: the fact that a person ordered the remediation of a target that its check finds healthy. Pure.

While the order is in force the target counts as unhealthy: in the verdict, in the numbers of the threshold,
and for the act, which reads the order again from the live target. A condition of the target that the check
calls unhealthy comes first, as the order adds nothing to it.
"""

from enum import StrEnum

from health.cluster.cluster_context import ClusterContext
from health.model.node import facts_of_node
from health.model.references import CheckReference
from health.model.remediation_order import REMEDIATE, RemediationOrder, order_in
from health.model.target import Target
from health.model.verdict import Fact, Health, Verdict
from health.policy.policy import Policy

SET = "set"


class Trigger(StrEnum):
    """The label `trigger` of metrics: a failure began the remediation, or an order of a person."""

    AUTOMATED = "automated"
    MANUAL = "manual"


def order_on(check: CheckReference, target: Target) -> RemediationOrder | None:
    """The order on `target` for this check, whether or not it is in force."""
    order = order_in(target.annotations.remediate)
    return order if order is not None and order.check == str(check) else None


def order_in_force(check: CheckReference, target: Target, context: ClusterContext) -> RemediationOrder | None:
    """The order, unless it is over, a boot fulfilled it, or a person confirmed the target as healthy.

    A policy without orders by annotation refuses this one too.
    """
    order = order_on(check, target) if context.policy.policy.orders_by_annotation else None
    if order is None or (target.metadata.uid, order.given) in context.orders_over:
        return None
    if order.is_fulfilled_by(facts_of_node(target).boot_id) or target.is_confirmed_healthy:
        return None
    return order


def with_allowed_force(order: RemediationOrder, policy: Policy) -> RemediationOrder:
    """The order as the gate obeys it: forced only if the policy allows that."""
    return order if policy.forced_orders else order.model_copy(update={"is_forced": False})


def fact_of(order: RemediationOrder) -> Fact:
    return Fact(condition=REMEDIATE, status=SET, since=order.given)


def is_by_order(fact: Fact | None) -> bool:
    """True if only an order of a person makes the target unhealthy."""
    return fact is not None and fact.condition == REMEDIATE


def trigger_of(*, is_ordered: bool) -> Trigger:
    return Trigger.MANUAL if is_ordered else Trigger.AUTOMATED


def verdict_of(order: RemediationOrder) -> Verdict:
    return Verdict(health=Health.EXPIRED, reason=order.words, fact=fact_of(order), deadline=order.given)
