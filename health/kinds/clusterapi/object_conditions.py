"""Conditions of Clusters and Machines as either version has them, slim.

Both versions have them in `status.conditions`. Beside those v1beta1 has the ones that came with v1beta2, in
`status.v1beta2.conditions`: of a type that is in both lists the first is read, which is what the owners of
Machines of that version go by. The deprecated ones of v1beta2 are read by nobody any more.

Messages are left out where no rule needs them: they change while nothing does.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.stored_status import entries, word
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

    @property
    def is_true(self) -> bool:
        """Whether it is True."""
        return self.status == "True"


def served_conditions(status: Mapping[str, Any], with_message: Collection[str] = ()) -> Iterator[Condition]:
    """Those that a status has, one of a type; messages of these types alone."""
    of_v1beta2 = status.get("v1beta2")
    later = entries(of_v1beta2, "conditions") if isinstance(of_v1beta2, Mapping) else []
    seen: set[str] = set()
    for one in (*entries(status, "conditions"), *later):
        type_ = word(one, "type")
        if type_ and type_ not in seen:
            seen.add(type_)
            yield _condition(one, type_, with_message)


def _condition(raw: Mapping[str, Any], type_: str, with_message: Collection[str]) -> Condition:
    return Condition(
        type=type_,
        status=word(raw, "status"),
        reason=word(raw, "reason"),
        message=word(raw, "message") if type_ in with_message else "",
        last_transition_time=as_time(raw.get("lastTransitionTime")),
    )
