"""Events of a MachineHealthCheck for the changes between two snapshots, once per transition (rule 15).

Cluster API's controller emits `RemediationRestricted` on every pass, for the threshold only, if a Machine
failed. We emit it once, and also for other holds of the whole check. During a hold the check has that one
Event and its Machines have none (rule 6). A paused check gets no Events.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, cast

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.kinds.clusterapi.check import MachineHealthCheck
from health.kinds.clusterapi.conditions import PAUSED, held_message
from health.kinds.clusterapi.target_events import machine_notes
from health.kinds.machines.machine import KIND as MACHINE
from health.kinds.machines.restriction import (
    REMEDIATION_ALLOWED,
    RESTRICTED,
    TOO_MANY_UNHEALTHY,
    is_restricted_by_threshold,
    of_check,
    of_targets,
    restricted,
    transitions,
    was_restricted,
)
from health.model.stored_status import stored_condition, string
from objects.event import Event, InvolvedObject


def events(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> list[Event]:
    """The Events; `before` is None at the start, `stored` is the status before this one."""

    def told(known: CheckSnapshot | None) -> Iterator[Event]:
        yield from _exceeded(known, after, stored)
        yield from restricted(known, after, stored, now)
        of_machines = after if before is not None else after.unreported(now, was_held=_was_held(stored))
        yield from _of_machines(known, of_machines, now)

    return transitions(before, after, stored, told)


def _was_held(stored: Mapping[str, Any]) -> bool:
    return was_restricted(stored) or stored_condition(stored, PAUSED).get("status") == "True"


def _exceeded(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any]
) -> Iterator[Event]:
    """The Event of the threshold, if a Machine failed and no earlier rule holds the check."""
    if after.allowance is None or not isinstance(after.check, MachineHealthCheck):
        return
    if not after.is_blocked or not is_restricted_by_threshold(after):
        return
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    is_known = (known.get("status"), known.get("reason")) == ("False", TOO_MANY_UNHEALTHY)
    if is_known and (before is None or before.is_blocked):
        return
    message = held_message(after.allowance, after.check.spec.trigger)
    yield of_check(after, RESTRICTED, message, "threshold", string(known, "lastTransitionTime"))


def _of_machines(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    check = cast("MachineHealthCheck", after.check)

    def subject(target: TargetSnapshot) -> InvolvedObject:
        return InvolvedObject(check.api_version, MACHINE, check.metadata.namespace, target.name, target.uid)

    return of_targets(before, after, now, partial(machine_notes, check.reference), subject)
