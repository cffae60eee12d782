"""Conditions of a status in the form of its version, with their twins in that of the other (CAPI B.1).

v1beta2 has them as metav1 has: each with a reason and a message. v1beta1 has them with a severity where they
are not True, and of what is True says no more than a message, if there is one. Beside its own list each
version keeps one for readers of the other: `deprecated.v1beta1` in v1beta2, `v1beta2` in v1beta1. A schema
may know nothing of that twin, so that it is lost: whether anything is written is decided by the list of the
version alone.

A patch replaces a list as a whole. So it holds what others wrote just as they wrote it, and is sent with the
resourceVersion that the list was read with. The list has the order that Cluster API's controllers give it at
each write; a list in another order is no reason to write.

The form of v1beta2 has the observedGeneration of the object, and a lastTransitionTime that moves with the
status. The form of v1beta1 has no generation, and a lastTransitionTime that moves with anything that it says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from health.kinds.clusterapi.condition_order import in_order
from health.kinds.clusterapi.group import V1BETA1
from health.model.stored_status import string
from objects.timestamps import stamp

_LONGEST, _LONGEST_OF_V1BETA1 = 32768, 10240
"""Characters of a message that either form takes."""

Stored: TypeAlias = Mapping[str, Any]
"""What is stored with a list of `conditions`; others may have written anything."""


@dataclass(frozen=True)
class StatusCondition:
    """One of ours, as it ought to be."""

    type: str
    status: str
    reason: str
    message: str = ""
    severity: str = "Warning"
    deprecated_reason: str | None = None
    """Of the form of v1beta1, where it is another one."""
    deprecated_message: str | None = None
    has_deprecated_twin: bool = True
    """Whether v1beta2 keeps a twin of it; some conditions never were in v1beta1."""


@dataclass(frozen=True)
class Changes:
    """What is to become of one list."""

    wanted: tuple[StatusCondition, ...] = ()
    gone: frozenset[str] = frozenset()
    """Types that are to go."""


Decide: TypeAlias = Callable[[Stored], Changes]
"""What is to become of a list, by what is in it: each form is judged by itself."""


@dataclass(frozen=True)
class _Form:
    """How conditions are written into one of the two lists, at one moment."""

    is_old: bool
    """Whether it is the form of v1beta1."""
    generation: int
    now: datetime

    @property
    def of_twin(self) -> "_Form":
        return replace(self, is_old=not self.is_old)


def conditions_patch(
    status: Mapping[str, Any], decide: Decide, *, api_version: str, generation: int, now: datetime
) -> dict[str, Any]:
    """The part of a merge patch that makes the conditions of `status` true; empty if they are.

    `generation` is that of the object, which its observedGeneration follows.
    """
    form = _Form(api_version == V1BETA1, generation, now)
    updated = _updated(status, decide(status), form)
    if updated is None:
        return {}
    return {"conditions": updated, **_twin(status, decide, form.of_twin)}


def _twin(status: Mapping[str, Any], decide: Decide, form: _Form) -> dict[str, Any]:
    path = ("deprecated", "v1beta1") if form.is_old else ("v1beta2",)
    stored = _at(status, path)
    changes = decide(stored)
    if form.is_old:
        kept = tuple(one for one in changes.wanted if one.has_deprecated_twin)
        changes = Changes(kept, changes.gone)
    updated = _updated(stored, changes, form)
    if updated is None:
        return {}
    patch: dict[str, Any] = {"conditions": updated}
    for field in reversed(path):
        patch = {field: patch}
    return patch


def _at(status: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    found: Any = status
    for field in path:
        found = found.get(field) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _listed(stored: Stored) -> list[Any]:
    found = stored.get("conditions")
    return list(found) if isinstance(found, list | tuple) else []


def _updated(stored: Stored, changes: Changes, form: _Form) -> list[Any] | None:
    """The list as it is to be; None where it is so but for its order."""
    wanted = {one.type: one for one in changes.wanted}
    kept = [one for one in _listed(stored) if _type_of(one) not in changes.gone]
    updated = [_true_of(wanted.pop(_type_of(one), None), one, form) for one in kept]
    updated += [_written(one, stamp(form.now), form) for one in wanted.values()]
    return None if updated == _listed(stored) else in_order(updated, _type_of, is_old=form.is_old)


def _true_of(wanted: StatusCondition | None, stored: Any, form: _Form) -> Any:  # noqa: ANN401
    """The stored condition where it says what it should, else one that does."""
    if wanted is None:
        return stored
    is_moved = form.is_old or string(stored, "status") != wanted.status
    since = stamp(form.now) if is_moved else string(stored, "lastTransitionTime") or stamp(form.now)
    written = _written(wanted, since, form)
    is_same = all((stored.get(key) or "") == written.get(key, "") for key in _SAID)
    return stored if is_same else written


_SAID = ("status", "severity", "reason", "message", "observedGeneration")


def _written(one: StatusCondition, since: str, form: _Form) -> dict[str, Any]:
    written = {"type": one.type, "status": one.status, "lastTransitionTime": since}
    if not form.is_old:
        observed = {"observedGeneration": form.generation} if form.generation else {}
        return written | observed | {"reason": one.reason, "message": one.message[:_LONGEST]}
    reason = one.reason if one.deprecated_reason is None else one.deprecated_reason
    message = one.message if one.deprecated_message is None else one.deprecated_message
    told = {"message": message[:_LONGEST_OF_V1BETA1]} if message else {}
    if one.status != "True":
        return written | {"severity": one.severity, "reason": reason} | told
    return written | ({"reason": reason} | told if told else {})


def _type_of(stored: object) -> str:
    """The type of a stored condition; "" of what is none."""
    return string(stored, "type") if isinstance(stored, Mapping) else ""
