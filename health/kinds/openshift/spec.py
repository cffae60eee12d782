"""The spec of a MachineHealthCheck of OpenShift: fields, defaults, refusals and threshold.

It takes what says what is meant (MHC A.1). The schema lets more through; that is refused here, and flags its
check alone, also where the machine-api-operator works with it (ADR 13):

- A selector, duration or maxUnhealthy that cannot be read: the operator fails for ever, or goes blind for all
  checks at once (rules 8 and 44).
- A condition without type or status: it could never match.
- A condition without a timeout: the operator takes it as 0, which deletes a Machine at the first hiccup.
- A maxUnhealthy below zero: the operator takes it as 0, and so deletes nothing.
- A maxUnhealthy above 32 bits: it breaks the operator's own status.
- A nodeStartupTimeout below zero ("-5m" passes a pattern that is anchored on one side only): the operator
  deletes every new Machine at once.
- A remediationTemplate without apiVersion, kind or name: the operator fails for ever.

Threshold (MHC A.2.4, rules 4, 5 and 44): remediation is allowed while `unhealthy <= maxUnhealthy`. A share is
rounded down; a whole number stands as it is, also above the number of Machines. All that do not count as
healthy use the budget up: those that are being deleted, have no Node or are marked, and those whose timer
runs.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from health.gate.selector import LabelSelector
from health.gate.template_field import LocalTemplate
from health.gate.threshold import LARGEST, Allowance, Amount, IntOrPercent
from objects.durations import Duration, GoDuration
from objects.frozen import FrozenObject

ALL = IntOrPercent(value=100, is_percent=True)
DEFAULT_NODE_STARTUP = timedelta(minutes=10)


def _fits_status(amount: IntOrPercent) -> IntOrPercent:
    if amount.value > LARGEST:
        raise ValueError("must fit into 32 bits")
    return amount


class Condition(FrozenObject):
    """One entry of spec.unhealthyConditions; the same one may stand there twice."""

    type: Annotated[str, Field(min_length=1)]
    status: Annotated[str, Field(min_length=1)]
    timeout: Duration


class Spec(FrozenObject):
    """spec of a MachineHealthCheck."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = ()
    max_unhealthy: Annotated[Amount, AfterValidator(_fits_status)] = ALL
    node_startup_timeout: GoDuration = DEFAULT_NODE_STARTUP
    remediation_template: LocalTemplate | None = None


def allowance(max_unhealthy: IntOrPercent, *, total: int, healthy: int) -> Allowance:
    """Whether remediation is allowed while `healthy` of `total` Machines are healthy."""
    return Allowance.of_required(total - max_unhealthy.floor_of(total), total=total, healthy=healthy)


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before nothing is allowed any more."""
    return max(0, decided.healthy - decided.required)
