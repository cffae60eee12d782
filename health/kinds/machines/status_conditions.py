"""Conditions in the status of a check or Machine: their desired values, and the list to write.

Machine APIs have two forms of a condition. In the older one, of v1beta1, a condition that is not True has a
severity, and a True one at most a message; lastTransitionTime moves with any change. The newer one is
metav1.Condition: each has a reason, a message and the observed generation of its object, and
lastTransitionTime moves with the status.

Conditions of others stay unchanged and in place, and an unchanged list is never written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from health.model.stored_status import string
from objects.timestamps import stamp

_LONGEST, _LONGEST_OF_OLD = 32768, 10240
"""The longest message in each form, in characters."""
_COMPARED = ("status", "severity", "reason", "message", "observedGeneration")

Stored: TypeAlias = Mapping[str, Any]
"""A stored object with a list of `conditions`, which other clients may have written."""


@dataclass(frozen=True, kw_only=True)
class StatusCondition:
    """One of our conditions with its desired values."""

    type: str
    status: str
    reason: str
    message: str = ""
    severity: str = "Warning"
    deprecated_reason: str | None = None
    """The reason in the older form, if it differs."""
    deprecated_message: str | None = None
    has_deprecated_twin: bool = True
    """False for a condition that never existed in the older form."""


@dataclass(frozen=True)
class Changes:
    """The changes to make in one list of conditions."""

    wanted: tuple[StatusCondition, ...] = ()
    gone: frozenset[str] = frozenset()
    """Types to remove."""


@dataclass(frozen=True)
class Form:
    """The form of a list, with the time and generation to write."""

    now: datetime
    is_old: bool = True
    generation: int = 0


def listed(stored: Stored) -> list[Any]:
    found = stored.get("conditions")
    return list(found) if isinstance(found, list | tuple) else []


def updated(stored: Stored, changes: Changes, form: Form) -> list[Any]:
    """The list with the changes; new conditions stand at its end."""
    wanted = {condition.type: condition for condition in changes.wanted}
    kept = [condition for condition in listed(stored) if type_of(condition) not in changes.gone]
    found = [_corrected(wanted.pop(type_of(condition), None), condition, form) for condition in kept]
    return [*found, *(_written(condition, stamp(form.now), form) for condition in wanted.values())]


def type_of(stored: object) -> str:
    """The type of a stored condition; "" for any other value."""
    return string(stored, "type") if isinstance(stored, Mapping) else ""


def _corrected(wanted: StatusCondition | None, stored: Any, form: Form) -> Any:  # noqa: ANN401
    """The stored condition if it is correct, otherwise the new one."""
    if wanted is None:
        return stored
    is_moved = form.is_old or string(stored, "status") != wanted.status
    since = stamp(form.now) if is_moved else string(stored, "lastTransitionTime") or stamp(form.now)
    written = _written(wanted, since, form)
    is_same = all((stored.get(key) or "") == written.get(key, "") for key in _COMPARED)
    return stored if is_same else written


def _written(wanted: StatusCondition, since: str, form: Form) -> dict[str, Any]:
    written = {"type": wanted.type, "status": wanted.status, "lastTransitionTime": since}
    if form.is_old:
        return written | _old_words(wanted)
    observed = {"observedGeneration": form.generation} if form.generation else {}
    return written | observed | {"reason": wanted.reason, "message": wanted.message[:_LONGEST]}


def _old_words(wanted: StatusCondition) -> dict[str, str]:
    reason = wanted.reason if wanted.deprecated_reason is None else wanted.deprecated_reason
    message = wanted.message if wanted.deprecated_message is None else wanted.deprecated_message
    of_message = {"message": message[:_LONGEST_OF_OLD]} if message else {}
    if wanted.status != "True":
        return {"severity": wanted.severity, "reason": reason} | of_message
    return {"reason": reason} | of_message if of_message else {}
