"""Slots: the keys under which limits count remediations."""

from collections.abc import Iterable

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
