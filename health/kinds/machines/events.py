"""Events of checks of Machines for the changes between two snapshots, once per transition (rule 15).

The Event RemediationRestricted says that a check may not remediate. The reference controllers emit it on each
pass, and only for the threshold; we emit it once, and also for other holds of the whole check. During a hold
the check has that one Event and its Machines have none (rule 6). A paused check gets no Events. For an
unknown policy the ConfigMap has the Event.

A Machine that a hold of its own delays, such as back-off or another holder, gets RemediationRestricted too;
the reference controllers have it for whole checks only (rules 13 and 14). The seed of an act's Event names
the incident, its run and the remediation in a row, so a retry of the act emits no second Event.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from health.check.annotated_hold import is_paused
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.threshold import Allowance
from health.gate.back_off import LostRequest
from health.kinds.machines.check import MachineCheck, Trigger
from health.kinds.machines.conditions import (
    INVALID_SPEC,
    REMEDIATION_ALLOWED,
    TOO_MANY_UNHEALTHY,
    Stored,
    was_restricted,
)
from health.kinds.machines.machine import KIND as MACHINE
from health.model.observation import HoldReason
from health.model.references import CheckReference
from health.model.remediation_request import RemediationAttempt
from health.model.stored_status import stored_condition, string
from objects.event import Event, InvolvedObject, Severity

RESTRICTED = "RemediationRestricted"
OVERDUE = "OwnerOverdue"
REMEDIATE = "Remediate"
"""The action in Events about a remediation."""
_REPORTED_OTHERWISE = frozenset(
    {
        HoldReason.APPROVAL_REQUIRED,
        HoldReason.NO_CONTROLLER,
        HoldReason.REFUSED,
        HoldReason.STEP_REJECTED,
        HoldReason.SUSPECTED_OUTAGE,
        HoldReason.TEMPLATE,
    }
)
"""Holds with an Event or a condition of their own, and those of many Machines at once (rule 6)."""


@dataclass(frozen=True)
class MachineNote:
    """An Event about one target, always of type Normal."""

    reason: str
    message: str
    action: str = REMEDIATE
    seed: str = ""
    """Distinguishes repeated Events during one failure."""


@dataclass(frozen=True, kw_only=True)
class MachineEvents:
    """The Events of one kind of checks; the fields are what the two reference controllers do differently."""

    path: Callable[[CheckReference, str, str], str]
    """How Events name a Machine, by check, Machine and Node (existing or not)."""
    notes: Callable[[CheckReference, TargetSnapshot | None, TargetSnapshot], Iterator[MachineNote]]
    """The Events about an unhealthy Machine besides its restrictions; None: nothing was reported about it."""
    exceeded: Callable[[Allowance, Trigger], str]
    """The message when the threshold begins to hold the check."""
    needs_failure: bool = False
    """True if too many unhealthy Machines are no reason for that Event before one of them failed."""
    was_paused: Callable[[Stored], bool] = lambda _: False
    """True if a stored status says that the check was paused."""

    def events(
        self, before: CheckSnapshot | None, after: CheckSnapshot, stored: Stored, now: datetime
    ) -> list[Event]:
        """The Events; `before` is None at the start."""
        if is_paused(after):
            return []
        if after.check is None:
            condition, problem = stored_condition(stored, REMEDIATION_ALLOWED), str(after.parsed.problem)
            if (condition.get("reason"), condition.get("message")) == (INVALID_SPEC, problem):
                return []
            message = f"Remediation is not allowed, the check cannot be read: {problem}"
            return [
                _of_check(after, "InvalidSpec", message, problem, string(condition, "lastTransitionTime"))
            ]
        if not isinstance(after.check, MachineCheck):
            return []
        is_unreported = before is None or before.check is None or is_paused(before)
        reported = None if is_unreported else before
        was_held = was_restricted(stored) or self.was_paused(stored)
        of_machines = after if before is not None else after.unreported(now, was_held=was_held)
        return [
            *self._exceeded(reported, after, after.check, stored),
            *_restricted(reported, after, stored, now),
            *self._of_machines(reported, of_machines, after.check, now),
        ]

    def request_lost(self, lost: LostRequest) -> Event:
        incident = lost.incident
        path = self.path(incident.check, incident.target.name, lost.node_name)
        return Event(
            seed=lost.seed,
            severity=Severity.NORMAL,
            reason=RESTRICTED,
            message=restricted(path, lost.words),
            action=REMEDIATE,
        )

    def _exceeded(
        self, before: CheckSnapshot | None, after: CheckSnapshot, check: MachineCheck[Any], stored: Stored
    ) -> Iterator[Event]:
        """The Event of the threshold, if no earlier rule holds the check."""
        hold = after.holds.first
        is_by_threshold = hold is not None and hold.reason is HoldReason.THRESHOLD
        if after.allowance is None or not is_by_threshold:
            return
        condition = stored_condition(stored, REMEDIATION_ALLOWED)
        is_reported = (condition.get("status"), condition.get("reason")) == ("False", TOO_MANY_UNHEALTHY)
        if self.needs_failure:
            was_blocked = before is None or before.is_blocked
            is_reported = not after.is_blocked or (is_reported and was_blocked)
        if not is_reported:
            message = self.exceeded(after.allowance, check.spec.trigger)
            yield _of_check(after, RESTRICTED, message, "threshold", string(condition, "lastTransitionTime"))

    def _of_machines(
        self, before: CheckSnapshot | None, after: CheckSnapshot, check: MachineCheck[Any], now: datetime
    ) -> Iterator[Event]:
        """The Events about Machines, unless the whole check is held; `before` was already reported."""
        if after.suppresses_target_events:
            return
        told = () if before is None or before.suppresses_target_events else before.targets.values()
        reported = {target.uid: target for target in told}
        namespace = check.metadata.namespace
        for name, target in sorted(after.targets.items()):
            is_new = before is not None and before.fact(name) is None
            subject = InvolvedObject(
                api_version=check.api_version,
                kind=MACHINE,
                namespace=namespace,
                name=target.name,
                uid=target.uid,
            )
            for note in self._notes(check.reference, reported.get(target.uid), target):
                failure = "" if target.verdict.fact is None else target.verdict.fact.identity
                yield Event(
                    seed=f"{after.uid}\n{note.reason}\n{target.uid}\n{failure}\n{note.seed}",
                    severity=Severity.NORMAL,
                    reason=note.reason,
                    message=note.message,
                    again=now.isoformat() if is_new else "",
                    subject=subject,
                    action=note.action,
                )

    def _notes(
        self, check: CheckReference, before: TargetSnapshot | None, after: TargetSnapshot
    ) -> Iterator[MachineNote]:
        yield from self.notes(check, before, after)
        path = self.path(check, after.name, after.node_name)
        for work in after.newly_overdue(before):
            yield MachineNote(OVERDUE, f"Machine {path} is no longer left to its owner: {work}", seed=work)
        back_off = after.new_back_off(before)
        if back_off is not None:
            seed = f"back-off {after.earlier_attempts}"
            yield MachineNote(RESTRICTED, restricted(path, back_off), seed=seed)
        hold = after.new_own_hold(before, besides=_REPORTED_OTHERWISE)
        if hold is not None:
            yield MachineNote(RESTRICTED, restricted(path, hold), seed=hold.reason)


def restricted(path: str, why: object) -> str:
    return f"Machine {path} remediation restricted: {why}"


def of_act(attempt: RemediationAttempt, severity: Severity, reason: str, message: str) -> Event:
    again = f"\n{attempt.number}" if attempt.number > 1 else ""
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{reason}{again}"
    return Event(seed=seed, severity=severity, reason=reason, message=message, action=REMEDIATE)


def _restricted(
    before: CheckSnapshot | None, after: CheckSnapshot, stored: Stored, now: datetime
) -> Iterator[Event]:
    """The Events for new holds, each with the reason that conditions show.

    At the start only what the status does not say yet; it does not say the version of a hold.
    """
    condition = stored_condition(stored, REMEDIATION_ALLOWED)
    reported = {string(condition, "reason")} if condition.get("status") == "False" else set()
    if before is not None:
        reported = {before.holds.shown(found.hold).reason for found, _ in before.holds.events()}
    again = now.isoformat() if before else ""
    for found, _ in after.holds.events():
        is_unversioned = before is not None or not found.version
        if after.holds.shown(found.hold).reason in reported and is_unversioned:
            continue
        words = found.hold.message
        message = f"Remediation restricted: {words}"
        yield _of_check(after, RESTRICTED, message, words, found.version, again=again)


def _of_check(snapshot: CheckSnapshot, reason: str, message: str, *seed: str, again: str = "") -> Event:
    return Event(
        seed="\n".join((snapshot.uid, reason, *seed)),
        severity=Severity.WARNING,
        reason=reason,
        message=message,
        again=again,
        action=REMEDIATE,
    )
