"""The spec of a MachineHealthCheck of OpenShift: fields, defaults and validation.

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
"""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from health.check.selector import LabelSelector
from health.check.template_field import LocalTemplate, TemplateField
from health.check.threshold import LARGEST, Amount, IntOrPercent
from health.kinds.machines.threshold import ALL, Trigger
from objects.durations import Duration, GoDuration
from objects.frozen import FrozenObject

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

    @property
    def trigger(self) -> Trigger:
        return self.max_unhealthy
