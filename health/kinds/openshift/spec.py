"""The spec of a MachineHealthCheck of OpenShift: fields, defaults, validation and threshold.

Only unambiguous specs are accepted (MHC A.1). Some that the schema allows are refused here, which affects
only their check, even where the machine-api-operator works with them (ADR 13):

- An unreadable selector, duration or maxUnhealthy: the operator fails for ever, or stops handling all checks
  (rules 8 and 44).
- A condition without type or status: it could never match.
- A condition without a timeout: the operator reads it as 0 and deletes a Machine at the first unhealthy
  status.
- A maxUnhealthy below zero: the operator reads it as 0, and so deletes nothing.
- A maxUnhealthy above 32 bits: it breaks the operator's own status.
- A nodeStartupTimeout below zero ("-5m" matches a pattern that is anchored on one side only): the operator
  deletes every new Machine at once.
- A remediationTemplate without apiVersion, kind or name: the operator fails for ever.

Threshold (MHC A.2.4, rules 4, 5 and 44): remediation is allowed while `unhealthy <= maxUnhealthy`. A share
is rounded down; an integer is used as it is, even above the number of Machines. Every Machine that does not
count as healthy uses the budget, including those being deleted, without a Node, marked, or with a running
timer.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from health.check.selector import LabelSelector
from health.check.template_field import LocalTemplate, TemplateField
from health.check.threshold import LARGEST, Allowance, Amount, IntOrPercent
from objects.durations import Duration, GoDuration
from objects.frozen import FrozenObject

ALL = IntOrPercent(value=100, is_percent=True)
DEFAULT_NODE_STARTUP = timedelta(minutes=10)


def _fits_status(amount: IntOrPercent) -> IntOrPercent:
    if amount.value > LARGEST:
        raise ValueError("must fit into 32 bits")
    return amount


class Condition(FrozenObject):
    """One entry of spec.unhealthyConditions; duplicates are allowed."""

    type: Annotated[str, Field(min_length=1)]
    status: Annotated[str, Field(min_length=1)]
    timeout: Duration


class Spec(FrozenObject):
    """The spec of a MachineHealthCheck of machine.openshift.io."""

    selector: LabelSelector = LabelSelector()
    unhealthy_conditions: tuple[Condition, ...] = ()
    max_unhealthy: Annotated[Amount, AfterValidator(_fits_status)] = ALL
    node_startup_timeout: GoDuration = DEFAULT_NODE_STARTUP
    remediation_template: LocalTemplate | None = None

    @property
    def template(self) -> TemplateField | None:
        return self.remediation_template


def allowance(max_unhealthy: IntOrPercent, *, total: int, healthy: int) -> Allowance:
    """The decision while `healthy` of `total` Machines are healthy."""
    return Allowance.of_required(total - max_unhealthy.floor_of(total), total=total, healthy=healthy)


def remediations_allowed(decided: Allowance) -> int:
    """How many more Machines may turn unhealthy before remediation stops."""
    return max(0, decided.healthy - decided.required)
