"""Conditions of Clusters and Machines in either version, slim.

Both versions have `status.conditions`. v1beta1 also has the conditions of v1beta2 in
`status.v1beta2.conditions`: for a type in both lists the first list counts, as it does for the owners of
Machines of that version. The deprecated conditions of v1beta2 are not read.

Messages and generations are kept only where a rule needs them, because they change without a change of
state.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic.dataclasses import dataclass

from health.kinds.machines.machine import PART
from health.model.stored_status import items, string
from objects.bounds import Time
from objects.timestamps import as_time


@dataclass(frozen=True, slots=True, kw_only=True, config=PART)
class Condition:
    """One condition; without a time it is as old as its object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: int = 0
    """0 if the condition has none, or it is not kept."""

    @property
    def is_true(self) -> bool:
        return self.status == "True"


def served_conditions(status: Mapping[str, Any], in_full: Collection[str] = ()) -> Iterator[Condition]:
    """The conditions of a status, one per type; only types in `in_full` keep message and generation."""
    of_v1beta2 = status.get("v1beta2")
    later = items(of_v1beta2, "conditions") if isinstance(of_v1beta2, Mapping) else []
    types: set[str] = set()
    for condition in (*items(status, "conditions"), *later):
        type_ = string(condition, "type")
        if type_ and type_ not in types:
            types.add(type_)
            yield _condition(condition, type_, is_in_full=type_ in in_full)


def _condition(raw: Mapping[str, Any], type_: str, *, is_in_full: bool) -> Condition:
    observed = raw.get("observedGeneration")
    return Condition(
        type=type_,
        status=string(raw, "status"),
        reason=string(raw, "reason"),
        message=string(raw, "message") if is_in_full else "",
        last_transition_time=as_time(raw.get("lastTransitionTime")),
        observed_generation=observed if is_in_full and isinstance(observed, int) else 0,
    )
