"""Conditions of objects of Cluster API in either version: read slim, and written with their twins (CAPI B.1).

Both versions have `status.conditions`. v1beta1 also has the conditions of v1beta2 in
`status.v1beta2.conditions`: for a type in both lists the first list counts, as it does for the owners of
Machines of that version. The deprecated conditions of v1beta2 are not read. Messages and generations are kept
only where a rule needs them, because they change without a change of state.

A list is written in the form of its version, with a twin in the form of the other: `deprecated.v1beta1` in
v1beta2, `v1beta2` in v1beta1. A schema may drop the twin, so the list of the version alone decides whether
to write.

A patch replaces a list as a whole and is sent with the resourceVersion of the read. The list gets the order
of Cluster API's controllers at each write; another order alone causes no write.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from pydantic.dataclasses import dataclass

from health.kinds.clusterapi.group import V1BETA1
from health.kinds.machines.conditions import Changes, Form, Stored, listed, type_of, updated
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
            is_in_full, observed = type_ in in_full, condition.get("observedGeneration")
            yield Condition(
                type=type_,
                status=string(condition, "status"),
                reason=string(condition, "reason"),
                message=string(condition, "message") if is_in_full else "",
                last_transition_time=as_time(condition.get("lastTransitionTime")),
                observed_generation=observed if is_in_full and isinstance(observed, int) else 0,
            )


_FIRST = (
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
)
_LAST = ("Paused", "Deleting")
_OTHERS = len(_FIRST)
_PLACES = {type_: place for place, type_ in enumerate(_FIRST)} | {
    type_: _OTHERS + 1 + place for place, type_ in enumerate(_LAST)
}

_T = TypeVar("_T")


def in_order(conditions: Iterable[_T], type_of: Callable[[_T], str], *, is_old: bool) -> list[_T]:
    """The conditions as controllers of Cluster API sort them at each write (rule 48); `is_old` means v1beta1.

    v1beta2 has its own order: availability first, then the types of the table, then unknown types, and at the
    end `Paused` and `Deleting`. v1beta1 has `Ready` first. Types with the same rank are sorted by name.
    """

    def place(condition: _T) -> tuple[int, str]:
        type_ = type_of(condition)
        return (int(type_ != "Ready") if is_old else _PLACES.get(type_, _OTHERS)), type_

    return sorted(conditions, key=place)


Decide: TypeAlias = Callable[[Stored], Changes]
"""Decides the changes of a list by its contents; each form is judged separately."""


def conditions_patch(
    status: Mapping[str, Any], decide: Decide, *, api_version: str, generation: int, now: datetime
) -> dict[str, Any]:
    """The part of a merge patch that corrects the conditions of `status`; empty if they are correct.

    `generation` is the one of the object, for observedGeneration.
    """
    form = Form(now, is_old=api_version == V1BETA1, generation=generation)
    conditions = _sorted(status, decide(status), form)
    if conditions is None:
        return {}
    twin = replace(form, is_old=not form.is_old)
    path = ("deprecated", "v1beta1") if twin.is_old else ("v1beta2",)
    found: Any = status
    for field in path:
        found = found.get(field) if isinstance(found, Mapping) else None
    stored: Stored = found if isinstance(found, Mapping) else {}
    changes = decide(stored)
    if twin.is_old:
        kept = tuple(condition for condition in changes.wanted if condition.has_deprecated_twin)
        changes = replace(changes, wanted=kept)
    of_twin = _sorted(stored, changes, twin)
    if of_twin is None:
        return {"conditions": conditions}
    patch: dict[str, Any] = {"conditions": of_twin}
    for field in reversed(path):
        patch = {field: patch}
    return {"conditions": conditions, **patch}


def _sorted(stored: Stored, changes: Changes, form: Form) -> list[Any] | None:
    """The new list; None if only its order would change."""
    found = updated(stored, changes, form)
    return None if found == listed(stored) else in_order(found, type_of, is_old=form.is_old)
