"""Label selectors with the rules of metav1.LabelSelector.

All of matchLabels and matchExpressions must hold. NotIn also selects objects without the key. The parser is
beside the parsers of checks and not in `kube/`, because an invalid selector makes its check invalid and the
error names the field.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from objects.field_problem import SaysItsValueError
from objects.frozen import FrozenObject

_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253


class Operator(StrEnum):
    """The operator of an expression in matchExpressions."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


def _label_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    is_prefix = len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix) is not None
    if not _NAME.fullmatch(name) or (slash and not is_prefix):
        raise SaysItsValueError(f"{key!r} is not a label key")
    return key


def _label_value(value: str) -> str:
    if value and not _NAME.fullmatch(value):
        raise SaysItsValueError(f"{value!r} is not a label value")
    return value


class Expression(FrozenObject):
    """One entry of matchExpressions, with its operator and values."""

    key: Annotated[str, AfterValidator(_label_key)]
    operator: Operator
    values: tuple[str, ...] = ()

    @field_validator("values")
    @classmethod
    def _values(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_label_value(value) for value in values)

    @model_validator(mode="after")
    def _values_fit_the_operator(self) -> Self:
        wants_values = self.operator in (Operator.IN, Operator.NOT_IN)
        if wants_values and not self.values:
            raise ValueError(f"{self.operator} of {self.key} needs values")
        if self.values and not wants_values:
            raise ValueError(f"{self.operator} of {self.key} takes no values")
        return self

    def selects(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels


class LabelSelector(FrozenObject):
    """A set of objects by their labels; an empty selector selects all."""

    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[Expression, ...] = ()

    @field_validator("match_labels")
    @classmethod
    def _labels(cls, labels: dict[str, str]) -> dict[str, str]:
        return {_label_key(key): _label_value(value) for key, value in labels.items()}

    @property
    def is_empty(self) -> bool:
        return not self.match_labels and not self.match_expressions

    def selects(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            expression.selects(labels) for expression in self.match_expressions
        )
