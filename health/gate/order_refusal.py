"""OrderRefusal: why a person's order to remediate a target that looks healthy is refused. Pure.

The first row that matches refuses. Other holds do not refuse: the order waits for them until it expires.

| state of the target and its check                  | why                                                   |
|----------------------------------------------------|-------------------------------------------------------|
| its state is unknown                               | whether it is healthy is unknown, too                 |
| the policy refuses orders by annotation            | an order to remediate is one                          |
| the check is in shadow                             | nothing would be written                              |
| an order is in force                               | one order at a time                                   |
| a request, a mark or a deletion                    | a remediation is under way                            |
| the check calls it unhealthy                       | its incident remediates it without an order           |
| it is excluded, under maintenance, without owner   | the order would wait for what a person decided        |
| the check is disabled or paused                    | the same                                              |
| with this target, the threshold would not allow it | the order would hold the targets that really failed   |
"""

from collections.abc import Sequence
from dataclasses import dataclass

from health.check.threshold import Allowance
from health.gate.admission import reasons_passed_by
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.remediation_order import RemediationOrder
from health.policy.policy import DEFAULTS, Policy
from objects.timestamps import stamp

_DECIDED = frozenset(
    {
        HoldReason.DISABLED,
        HoldReason.PAUSED,
        HoldReason.EXCLUDED,
        HoldReason.HOLD_ANNOTATION,
        HoldReason.NODE_MAINTENANCE,
        HoldReason.NO_CONTROLLER,
    }
)
"""Holds that a person set and that no time ends."""


@dataclass(frozen=True, kw_only=True)
class OrderMoment:
    """The order, and the state of its target and check."""

    order: RemediationOrder
    observation: Observation
    """The answer that the incident of the target would get without the order."""
    holds: Sequence[Hold]
    """Every hold of the target, in the order of precedence."""
    allowance: Allowance | None
    """The decision of the threshold if the target counted as unhealthy; None: the numbers are unknown."""
    policy: Policy = DEFAULTS
    earlier: RemediationOrder | None = None
    """An order in force on the target, for any check."""

    @property
    def waits_for(self) -> Hold | None:
        """The first hold that the order does not pass; None: nothing holds it now."""
        passed = reasons_passed_by(self.order)
        return next((hold for hold in self.holds if hold.reason not in passed), None)


def refusal(moment: OrderMoment) -> str:
    """Why the order is refused; "": it is not."""
    observation = moment.observation
    if observation.state is TargetState.UNKNOWN:
        return f"its state is unknown: {observation.hold}"
    if not moment.policy.orders_by_annotation:
        return "the policy has ordersByAnnotation: false"
    if observation.is_shadow:
        return "the check is in shadow, so nothing would be written"
    if moment.earlier is not None:
        return f"an order stands until {stamp(moment.earlier.until)}: {moment.earlier.words}"
    requests = ", ".join(str(request) for request in observation.requests)
    if under_way := requests or observation.under_way or ("it is marked" if observation.is_marked else ""):
        return f"a remediation is under way: {under_way}"
    if observation.is_unhealthy:
        return (
            f"it is unhealthy already, and is remediated without an order ({observation.reason}); "
            "paramedic show says what it waits for, paramedic resume ends a wait between attempts"
        )
    return _held(moment)


def _held(moment: OrderMoment) -> str:
    decided = next((hold for hold in moment.holds if hold.reason in _DECIDED), None)
    if decided is not None:
        return str(decided)
    if moment.order.is_forced and not moment.policy.forced_orders:
        return "the policy does not allow --force (forcedOrders: true allows it)"
    allowance = moment.allowance
    if allowance is None or allowance.allowed or moment.order.is_forced:
        return ""
    permitted = "" if moment.policy.forced_orders else " if the policy allows it (forcedOrders)"
    return f"with it, {allowance.words}; --force passes the threshold{permitted}"
