"""AppliedLimit: one limit, as it applies to one remediation. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from health.policy.limits import LimitedRemediation, LimitScope
from health.policy.slots import Slot, slot_of_all, slot_of_starts, slots_of_value


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
