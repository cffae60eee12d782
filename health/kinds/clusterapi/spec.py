"""The spec of a MachineHealthCheck of Cluster API: one model, and how either version spells it (CAPI B.1).

Which fields are there says which version a spec is of: a CRD whose versions nobody converts hands out as
v1beta2 what was written as v1beta1. Where that says nothing, or both, apiVersion does.

Taken is what says what is meant. The schema, or one without its webhook, lets more through; that is refused
here, and flags its check alone (rules 8 and 44):

- No clusterName, or a selector, duration, amount or range that cannot be read: Cluster API's controller fails
  for ever.
- A condition without type or status, which could never match, or without a timeout, which that controller
  takes as 0.
- A negative timeout: what it calls unhealthy was so before it began.
- A condition of Machines that sums up others, or is one of those that checks write: it would feed itself.
- A range that ends before it begins, and a number that does not fit into 32 bits.
- A template without apiVersion, kind or name.
- Expressions (unhealthyExpressions): what they say is not known here, and half a check is none.

An empty selector selects nothing, as Cluster API's webhook has it: it lets none through.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from health.gate.selector import LabelSelector
from health.gate.template_field import LocalTemplate, Template
from health.gate.threshold import LARGEST
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.machine import OURS
from health.kinds.clusterapi.threshold import ALL, Amount, Range, Trigger
from health.model.verdict import UnhealthyCondition
from objects.durations import GoDuration
from objects.frozen import Frozen, FrozenObject

DEFAULT_NODE_STARTUP = timedelta(minutes=10)
_SUMMARIES = frozenset({"Ready", "Available"})


class Spec(Frozen):
    """What either version says."""

    cluster_name: str
    selector: LabelSelector
    node_startup: timedelta
    """Zero: a Machine may wait for its Node for ever."""
    node_conditions: tuple[UnhealthyCondition, ...]
    machine_conditions: tuple[UnhealthyCondition, ...]
    trigger: Trigger
    template: Template | None


def _tells_of_machines(type_: str) -> str:
    if type_ in OURS | _SUMMARIES:
        raise ValueError("must not be a condition that sums up others, or that checks write")
    return type_


def _are_none(expressions: tuple[object, ...]) -> tuple[object, ...]:
    if expressions:
        raise ValueError("expressions are not understood, nothing is remediated by half a check")
    return expressions


Text = Annotated[str, Field(min_length=1)]
OfMachine = Annotated[Text, AfterValidator(_tells_of_machines)]
ClusterName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")]
Seconds = Annotated[int, Field(ge=0, le=LARGEST, strict=True)]


class _ConditionInSeconds(FrozenObject):
    type: Text
    status: Text
    timeout_seconds: Seconds

    @property
    def unhealthy(self) -> UnhealthyCondition:
        return UnhealthyCondition(self.type, self.status, timedelta(seconds=self.timeout_seconds))


class _MachineConditionInSeconds(_ConditionInSeconds):
    type: OfMachine


class _Checks(FrozenObject):
    node_startup_timeout_seconds: Seconds | None = None
    unhealthy_node_conditions: tuple[_ConditionInSeconds, ...] = ()
    unhealthy_machine_conditions: tuple[_MachineConditionInSeconds, ...] = ()
    unhealthy_expressions: Annotated[tuple[object, ...], AfterValidator(_are_none)] = ()


class _TriggerIf(FrozenObject):
    unhealthy_less_than_or_equal_to: Amount | None = None
    unhealthy_in_range: Range = None


class _Remediation(FrozenObject):
    trigger_if: _TriggerIf = _TriggerIf()
    template_ref: LocalTemplate | None = None


class SpecV1Beta2(FrozenObject):
    """spec in v1beta2."""

    cluster_name: ClusterName
    selector: LabelSelector
    checks: _Checks = _Checks()
    remediation: _Remediation = _Remediation()

    @property
    def spec(self) -> Spec:
        """What it says."""
        startup, trigger_if = self.checks.node_startup_timeout_seconds, self.remediation.trigger_if
        return Spec(
            cluster_name=self.cluster_name,
            selector=self.selector,
            node_startup=DEFAULT_NODE_STARTUP if startup is None else timedelta(seconds=startup),
            node_conditions=tuple(one.unhealthy for one in self.checks.unhealthy_node_conditions),
            machine_conditions=tuple(one.unhealthy for one in self.checks.unhealthy_machine_conditions),
            trigger=trigger_if.unhealthy_in_range or trigger_if.unhealthy_less_than_or_equal_to or ALL,
            template=self.remediation.template_ref,
        )


class _ConditionWithTimeout(FrozenObject):
    type: Text
    status: Text
    timeout: GoDuration

    @property
    def unhealthy(self) -> UnhealthyCondition:
        return UnhealthyCondition(self.type, self.status, self.timeout)


class _MachineConditionWithTimeout(_ConditionWithTimeout):
    type: OfMachine


class SpecV1Beta1(FrozenObject):
    """spec in v1beta1."""

    cluster_name: ClusterName
    selector: LabelSelector
    unhealthy_conditions: tuple[_ConditionWithTimeout, ...] = ()
    unhealthy_machine_conditions: tuple[_MachineConditionWithTimeout, ...] = ()
    max_unhealthy: Amount | None = None
    unhealthy_range: Range = None
    node_startup_timeout: GoDuration = DEFAULT_NODE_STARTUP
    remediation_template: LocalTemplate | None = None

    @property
    def spec(self) -> Spec:
        """What it says."""
        return Spec(
            cluster_name=self.cluster_name,
            selector=self.selector,
            node_startup=self.node_startup_timeout,
            node_conditions=tuple(one.unhealthy for one in self.unhealthy_conditions),
            machine_conditions=tuple(one.unhealthy for one in self.unhealthy_machine_conditions),
            trigger=self.unhealthy_range or self.max_unhealthy or ALL,
            template=self.remediation_template,
        )


def _fields_of(version: type[FrozenObject]) -> set[str]:
    return {field.alias or name for name, field in version.model_fields.items()}


_ONLY_V1BETA2 = _fields_of(SpecV1Beta2) - _fields_of(SpecV1Beta1)
_ONLY_V1BETA1 = _fields_of(SpecV1Beta1) - _fields_of(SpecV1Beta2)


def is_v1beta2(spec: object, api_version: object) -> bool:
    """Whether a raw spec is one of v1beta2."""
    fields: set[Any] = set(spec) if isinstance(spec, Mapping) else set()
    is_new, is_old = bool(fields & _ONLY_V1BETA2), bool(fields & _ONLY_V1BETA1)
    return api_version == V1BETA2 if is_new == is_old else is_new
