"""The limits that apply to one remediation, and the slots under which they count remediations. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from health.model.references import CheckReference
from health.policy.limits import LimitedRemediation, LimitScope

Slot = tuple[CheckReference | None, str, str | None]
"""The check of the scope (None: all checks), a label, and a value of it (None: the value is unknown)."""


def slot_of_all(scope: LimitScope) -> Slot:
    """The slot that counts all remediations of a scope."""
    return scope.check, "", ""


def slot_of_starts(scope: LimitScope) -> Slot:
    return scope.check, "", None


def slots_in_flight(scopes: Iterable[LimitScope], remediation: LimitedRemediation) -> tuple[Slot, ...]:
    """The slots that a remediation uses while it is in flight."""
    slots: list[Slot] = []
    for scope in scopes:
        slots.append(slot_of_all(scope))
        labels = scope.limits.max_in_flight_by_label
        slots += [(scope.check, label, remediation.labels.get(label)) for label in labels]
    return tuple(slots)


def slots_of_value(scope: LimitScope, label: str, value: str | None) -> tuple[Slot, ...]:
    """The slots that count for a value of a label: its own, and that of targets whose value is unknown.

    For a target whose own value is unknown all count, and each remediation has one value of each label.
    """
    if value is None:
        return (slot_of_all(scope),)
    return (scope.check, label, value), (scope.check, label, None)


class AppliedLimit(NamedTuple):
    """One limit of a scope; the slots are those that count for it."""

    most: int
    scope: LimitScope
    slots: tuple[Slot, ...]
    label: str = ""
    """The label whose values are limited; "": none."""
    value: str | None = None
    """The label's value of the remediation; None: unknown."""
    is_of_starts: bool = False

    @property
    def labelled(self) -> str:
        """The label and its value, such as "zone=a"; "zone=?" if the value is unknown."""
        return f"{self.label}={'?' if self.value is None else self.value}"


def applied_limits(scopes: Iterable[LimitScope], remediation: LimitedRemediation) -> Iterator[AppliedLimit]:
    """Return the limits that a remediation must satisfy."""
    for scope in scopes:
        limits = scope.limits
        if limits.max_in_flight is not None:
            yield AppliedLimit(limits.max_in_flight, scope, (slot_of_all(scope),))
        for label, most in limits.max_in_flight_by_label.items():
            value = remediation.labels.get(label)
            yield AppliedLimit(most, scope, slots_of_value(scope, label, value), label, value)
        if limits.max_starts_per_hour is not None:
            yield AppliedLimit(limits.max_starts_per_hour, scope, (slot_of_starts(scope),), is_of_starts=True)
