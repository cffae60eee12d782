"""Conditions of a status in the form of its version, with twins in the form of the other (CAPI B.1).

v1beta2 uses metav1.Condition: each has a reason and a message. In v1beta1 a condition that is not True has a
severity, and a True one at most a message. Each version keeps a second list for readers of the other:
`deprecated.v1beta1` in v1beta2, `v1beta2` in v1beta1. A schema may drop the second list, so the list of the
version alone decides whether to write.

A patch replaces a list as a whole: it keeps the conditions of others unchanged and is sent with the
resourceVersion of the read. The list gets the order of Cluster API's controllers at each write; another
order alone causes no write. In v1beta2, observedGeneration is the object's generation and lastTransitionTime
moves with the status. In v1beta1 there is no generation, and lastTransitionTime moves with any change.
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
"""The longest message in each form, in characters."""

Stored: TypeAlias = Mapping[str, Any]
"""A stored object with a list of `conditions`, which other clients may have written."""


@dataclass(frozen=True)
class StatusCondition:
    """One of our conditions with its desired values."""

    type: str
    status: str
    reason: str
    message: str = ""
    severity: str = "Warning"
    deprecated_reason: str | None = None
    """The reason in the form of v1beta1, if it differs."""
    deprecated_message: str | None = None
    has_deprecated_twin: bool = True
    """Whether v1beta2 has a twin of it; some conditions never existed in v1beta1."""


@dataclass(frozen=True)
class Changes:
    """The changes to make in one list of conditions."""

    wanted: tuple[StatusCondition, ...] = ()
    gone: frozenset[str] = frozenset()
    """Types to remove."""


Decide: TypeAlias = Callable[[Stored], Changes]
"""Decides the changes of a list by its contents; each form is judged separately."""


@dataclass(frozen=True)
class _Form:
    """The form of one of the two lists, with the time and generation to write."""

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
    """The part of a merge patch that corrects the conditions of `status`; empty if they are correct.

    `generation` is the one of the object, for observedGeneration.
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
    """The new list; None if only its order would change."""
    wanted = {one.type: one for one in changes.wanted}
    kept = [one for one in _listed(stored) if _type_of(one) not in changes.gone]
    updated = [_true_of(wanted.pop(_type_of(one), None), one, form) for one in kept]
    updated += [_written(one, stamp(form.now), form) for one in wanted.values()]
    return None if updated == _listed(stored) else in_order(updated, _type_of, is_old=form.is_old)


def _true_of(wanted: StatusCondition | None, stored: Any, form: _Form) -> Any:  # noqa: ANN401
    """The stored condition if it is correct, otherwise the new one."""
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
    """The type of a stored condition; "" for any other value."""
    return string(stored, "type") if isinstance(stored, Mapping) else ""
