"""Conditions of Clusters and Machines as either version has them, slim.

Both versions have them in `status.conditions`. Beside those v1beta1 has the ones that came with v1beta2, in
`status.v1beta2.conditions`: of a type that is in both lists the first is read, which is what the owners of
Machines of that version go by. The deprecated ones of v1beta2 are read by nobody any more.

Messages and generations are left out where no rule needs them: they change while nothing does.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.stored_status import items, string
from objects.bounds import Time
from objects.timestamps import as_time

_PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class Condition:
    """One condition; one that says no time is as old as its object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: int = 0
    """0 where the condition says none, or it is not kept."""

    @property
    def is_true(self) -> bool:
        """Whether it is True."""
        return self.status == "True"


def served_conditions(status: Mapping[str, Any], in_full: Collection[str] = ()) -> Iterator[Condition]:
    """Those that a status has, one of a type; message and generation of the types `in_full` alone."""
    of_v1beta2 = status.get("v1beta2")
    later = items(of_v1beta2, "conditions") if isinstance(of_v1beta2, Mapping) else []
    seen: set[str] = set()
    for one in (*items(status, "conditions"), *later):
        type_ = string(one, "type")
        if type_ and type_ not in seen:
            seen.add(type_)
            yield _condition(one, type_, is_in_full=type_ in in_full)


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
