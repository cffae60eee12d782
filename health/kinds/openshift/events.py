"""Events of a MachineHealthCheck for the changes between two snapshots, once per transition (rule 15).

Texts are the machine-api-operator's where it has one; it emits `RemediationRestricted` on every
reconciliation, and only for the threshold. We emit it once, and also for other holds of the whole check.
During a hold the check has that one Event and its Machines have none (rule 6). A paused check gets no
Events. The activity that deletes or marks a Machine emits the Events about it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, cast

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
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
from health.kinds.openshift.check import MachineHealthCheck
from health.kinds.openshift.conditions import numbers
from health.kinds.openshift.machine import API_VERSION as MACHINE_API
from health.kinds.openshift.target_events import machine_notes
from health.model.stored_status import stored_condition, string
from objects.event import Event, InvolvedObject


def events(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Mapping[str, Any], now: datetime
) -> list[Event]:
    """The Events; `before` is None at the start, `stored` is the status before this one."""

    def told(known: CheckSnapshot | None) -> Iterator[Event]:
        yield from _exceeded(after, stored)
        yield from restricted(known, after, stored, now)
        of_machines = after if before is not None else after.unreported(now, was_held=was_restricted(stored))
        yield from _of_machines(known, of_machines, now)

    return transitions(before, after, stored, told)


def _exceeded(after: CheckSnapshot, stored: Mapping[str, Any]) -> Iterator[Event]:
    known = stored_condition(stored, REMEDIATION_ALLOWED)
    if after.allowance is None or not isinstance(after.check, MachineHealthCheck):
        return
    if not is_restricted_by_threshold(after):
        return
    if (known.get("status"), known.get("reason")) == ("False", TOO_MANY_UNHEALTHY):
        return
    words = numbers(after.allowance, after.check.spec.max_unhealthy)
    message = f"Remediation restricted due to exceeded number of unhealthy machines {words}"
    yield of_check(after, RESTRICTED, message, "threshold", string(known, "lastTransitionTime"))


def _of_machines(before: CheckSnapshot | None, after: CheckSnapshot, now: datetime) -> Iterator[Event]:
    check = cast("MachineHealthCheck", after.check).reference

    def subject(target: TargetSnapshot) -> InvolvedObject:
        return InvolvedObject(MACHINE_API, MACHINE, check.namespace, target.name, target.uid)

    return of_targets(before, after, now, partial(machine_notes, check), subject)
