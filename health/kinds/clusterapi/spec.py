"""The spec of a MachineHealthCheck of Cluster API: one model for both versions (CAPI B.1).

The fields show the version of a spec, because a CRD without conversion returns v1beta1 specs as v1beta2. If
the fields show neither or both, apiVersion decides.

Specs that the schema allows, or a schema without its webhook, are refused here if they are ambiguous. A
refused spec affects only its check (rules 8 and 44):

- No clusterName, or an unreadable selector, duration, amount or range: Cluster API's controller fails for
  ever.
- A condition without type or status, which could never match, or without a timeout, which that controller
  reads as 0.
- A negative timeout: the target would be unhealthy before the condition began.
- A condition of Machines that sums up others, or that checks write: it would depend on itself.
- A range that ends before it begins, and a number that does not fit into 32 bits.
- A template without apiVersion, kind or name.
- Expressions (unhealthyExpressions), which are not supported: a check without them would be incomplete.

An empty selector selects nothing; Cluster API's webhook allows none.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetPydanticSchema, PlainValidator
from pydantic_core import CoreSchema

from health.check.selector import LabelSelector
from health.check.template_validity import LocalTemplate, TemplateField
from health.check.threshold import LARGEST, IntOrPercent, number_of
from health.kinds.clusterapi.group import V1BETA2
from health.kinds.clusterapi.machine import OURS
from health.kinds.machines.check import ALL, Trigger, UnhealthyRange
from health.model.verdict import Text, UnhealthyCondition
from objects.durations import GoDuration
from objects.frozen import Frozen, FrozenObject
from objects.patterns import DNS_NAME

_AMOUNT = re.compile(r"[+-]?[0-9]+%?", re.ASCII)
_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]", re.ASCII)
_LARGEST_OF_RANGE = 2**32 - 1


def parse_range(raw: object) -> UnhealthyRange:
    """The range that a check writes as "[2-5]".

    Raises:
        ValueError: it is no range, does not fit into 32 bits, or ends before it begins.

    """
    found = _RANGE.fullmatch(raw) if isinstance(raw, str) else None
    if found is None:
        raise ValueError("must be a range such as [2-5]")
    least, most = (_number(digits, _LARGEST_OF_RANGE) for digits in found.groups())
    if most < least:
        raise ValueError("must not end before it begins")
    return UnhealthyRange(least=least, most=most)


def parse_amount(raw: object) -> IntOrPercent:
    """The amount that a check writes as 3, "3", -1, "40%" or "150%" (CAPI B.2.4, rule 44).

    Raises:
        ValueError: it is none of these, or does not fit into 32 bits.

    """
    if isinstance(raw, int) and not isinstance(raw, bool):
        return IntOrPercent(value=_fitting(raw, LARGEST))
    if not isinstance(raw, str) or not _AMOUNT.fullmatch(raw):
        raise ValueError("must be a whole number or a percentage such as 40%")
    digits = raw.removesuffix("%")
    return IntOrPercent(value=_number(digits, LARGEST), is_percent=raw.endswith("%"))


Amount = Annotated[IntOrPercent, PlainValidator(parse_amount)]
_RANGE_OR_NONE = PlainValidator(lambda raw: None if raw in (None, "") else parse_range(raw))
Range = Annotated[UnhealthyRange | None, _RANGE_OR_NONE]


def _number(digits: str, largest: int) -> int:
    number = number_of(digits.lstrip("+-"))
    return _fitting(-number if digits.startswith("-") else number, largest)


def _fitting(number: int, largest: int) -> int:
    if abs(number) > largest:
        raise ValueError("must fit into 32 bits")
    return number


DEFAULT_NODE_STARTUP = timedelta(minutes=10)
_SUMMARIES = frozenset({"Ready", "Available"})


class Spec(Frozen):
    """The contents of a spec, in a form common to both versions."""

    cluster_name: str
    selector: LabelSelector
    node_startup: timedelta
    """Zero: a Machine may wait for its Node for ever."""
    node_conditions: tuple[UnhealthyCondition, ...]
    machine_conditions: tuple[UnhealthyCondition, ...]
    trigger: Trigger
    template: TemplateField | None


def _tells_of_machines(type_: str) -> str:
    if type_ in OURS | _SUMMARIES:
        raise ValueError("must not be a condition that sums up others, or that checks write")
    return type_


def _are_none(expressions: tuple[object, ...]) -> tuple[object, ...]:
    if expressions:
        raise ValueError("expressions are not understood, nothing is remediated by half a check")
    return expressions


OfMachine = Annotated[Text, AfterValidator(_tells_of_machines)]
ClusterName = Annotated[str, Field(min_length=1, max_length=63), DNS_NAME]


def _of_seconds(_: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    as_duration = AfterValidator(lambda seconds: timedelta(seconds=seconds))
    return handler(Annotated[int, Field(ge=0, le=LARGEST, strict=True), as_duration])


Seconds = Annotated[timedelta, GetPydanticSchema(_of_seconds)]


class _ConditionInSeconds(UnhealthyCondition):
    duration: Seconds = Field(alias="timeoutSeconds")


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
    """The spec as v1beta2 writes it."""

    cluster_name: ClusterName
    selector: LabelSelector
    checks: _Checks = _Checks()
    remediation: _Remediation = _Remediation()

    @property
    def spec(self) -> Spec:
        startup, trigger_if = self.checks.node_startup_timeout_seconds, self.remediation.trigger_if
        return Spec(
            cluster_name=self.cluster_name,
            selector=self.selector,
            node_startup=DEFAULT_NODE_STARTUP if startup is None else startup,
            node_conditions=self.checks.unhealthy_node_conditions,
            machine_conditions=self.checks.unhealthy_machine_conditions,
            trigger=trigger_if.unhealthy_in_range or trigger_if.unhealthy_less_than_or_equal_to or ALL,
            template=self.remediation.template_ref,
        )


class _ConditionWithTimeout(UnhealthyCondition):
    duration: GoDuration = Field(alias="timeout")


class _MachineConditionWithTimeout(_ConditionWithTimeout):
    type: OfMachine


class SpecV1Beta1(FrozenObject):
    """The spec as v1beta1 writes it."""

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
        return Spec(
            cluster_name=self.cluster_name,
            selector=self.selector,
            node_startup=self.node_startup_timeout,
            node_conditions=self.unhealthy_conditions,
            machine_conditions=self.unhealthy_machine_conditions,
            trigger=self.unhealthy_range or self.max_unhealthy or ALL,
            template=self.remediation_template,
        )


def _fields_of(version: type[FrozenObject]) -> set[str]:
    return {field.alias or name for name, field in version.model_fields.items()}


_ONLY_V1BETA2 = _fields_of(SpecV1Beta2) - _fields_of(SpecV1Beta1)
_ONLY_V1BETA1 = _fields_of(SpecV1Beta1) - _fields_of(SpecV1Beta2)


def is_v1beta2(spec: object, api_version: object) -> bool:
    fields: set[Any] = set(spec) if isinstance(spec, Mapping) else set()
    is_new, is_old = bool(fields & _ONLY_V1BETA2), bool(fields & _ONLY_V1BETA1)
    return api_version == V1BETA2 if is_new == is_old else is_new
