"""Conditions of a status in the form of its version, with twins in the form of the other (CAPI B.1).

Each version keeps a second list for readers of the other: `deprecated.v1beta1` in v1beta2, `v1beta2` in
v1beta1. A schema may drop the second list, so the list of the version alone decides whether to write.

A patch replaces a list as a whole and is sent with the resourceVersion of the read. The list gets the order
of Cluster API's controllers at each write; another order alone causes no write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from health.kinds.clusterapi.group import V1BETA1
from health.kinds.machines.status_conditions import Changes, Form, Stored, listed, type_of, updated

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
    return {"conditions": conditions, **_twin(status, decide, replace(form, is_old=not form.is_old))}


def _twin(status: Mapping[str, Any], decide: Decide, form: Form) -> dict[str, Any]:
    path = ("deprecated", "v1beta1") if form.is_old else ("v1beta2",)
    stored = _at(status, path)
    changes = decide(stored)
    if form.is_old:
        kept = tuple(condition for condition in changes.wanted if condition.has_deprecated_twin)
        changes = Changes(kept, changes.gone)
    conditions = _sorted(stored, changes, form)
    if conditions is None:
        return {}
    patch: dict[str, Any] = {"conditions": conditions}
    for field in reversed(path):
        patch = {field: patch}
    return patch


def _at(status: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    found: Any = status
    for field in path:
        found = found.get(field) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _sorted(stored: Stored, changes: Changes, form: Form) -> list[Any] | None:
    """The new list; None if only its order would change."""
    found = updated(stored, changes, form)
    return None if found == listed(stored) else in_order(found, type_of, is_old=form.is_old)
