"""The status of a NodeHealthCheck (NHC 1.2 to 1.4), and what the next leader reads from it. Pure.

Numbers are correct in every phase (rule 17), and the reason names the hold of the check (rule 55). Two
snapshots with the same published values give the same status except lastUpdateTime, which only changes with
another field, so an unchanged status is never written.

The conditions of a storm (NHC 1.3) are its memory: the next leader, and the NodeHealthCheck operator,
continue from them (rule 39). Both appear with the first storm, and stay as False when it is over.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.check.storm import Storm
from health.cluster.cluster_context import CheckProblem
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.nodehealthcheck.disabled import NO_PROBLEM, disabled
from health.model.details import HoldWords
from health.model.observation import HoldReason
from health.model.request_snapshot import RequestSnapshot
from health.model.stored_status import items, stored_condition, string
from health.model.verdict import Health
from health.runbook.escalation import Plan, is_classic
from objects.timestamps import as_time, stamp

Status = Mapping[str, Any]

MOST_NAMES = 5
MOST_BYTES_OF_NODES = 900_000
"""The limit for `unhealthyNodes`: etcd takes no object over 1.5 MB, and the status would be lost."""
_LAST_UPDATE = "lastUpdateTime"
_COUNT = "unhealthyNodeCount"
_HELD = "; no new remediation is begun since "
"""The phase is the operator's, which knows no other hold, so the hold is added to the reason."""
_STORED_HOLD = re.compile(rf"{_HELD}(\S+): (\w+)")
"""The schema of the operator has no field for a hold, so a new leader learns it from this text."""
STORM, COOLDOWN = "StormActive", "StormCooldownActive"
_REASON = "HealthyNodeThresholdChange"
_STORM_MESSAGES = {
    True: (
        "Storm mode is activated - preventing any new remediation until the storm is over and cooldown "
        "duration expired"
    ),
    False: "Storm mode is deactivated, remediation can occur normally",
}
_COOLING = "Storm cooldown delay started - waiting before resuming normal remediation"
_CLEARED = "Cooldown cleared - storm threshold triggered"
_COMPLETED = "Storm cooldown completed"


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    wanted = _status(snapshot, stored, now)
    # inFlightRemediations is the NodeHealthCheck operator's old field, which it clears too.
    gone = [key for key in stored if key not in wanted and key != _LAST_UPDATE]
    patch = {key: value for key, value in wanted.items() if stored.get(key) != value}
    patch |= dict.fromkeys(gone if snapshot.allowance is not None else ())
    # The count follows from the other numbers. The operator's own CRD drops it, so a missing count alone
    # causes no write, or the write would repeat for ever.
    return patch | {_LAST_UPDATE: stamp(now)} if patch.keys() - {_COUNT} else {}


def stored_requests(stored: Status) -> frozenset[tuple[str, str]]:
    """Kinds, with their apiVersion, of the requests that a stored status lists."""
    found = set()
    for node in items(stored, "unhealthyNodes"):
        for remediation in items(node, "remediations"):
            resource = remediation.get("resource")
            if isinstance(resource, Mapping):
                found.add((string(resource, "apiVersion"), string(resource, "kind")))
    return frozenset(kind for kind in found if all(kind))


def stored_hold(stored: Status) -> HoldWords | None:
    """The hold in a stored status, without its sentence; None without one."""
    found = _STORED_HOLD.search(string(stored, "reason"))
    return HoldWords(short=found[2], since=as_time(found[1])) if found else None


def held_since(stored: Status, reason: str) -> datetime | None:
    """When the hold of this reason began; None: the status does not tell."""
    disabled = stored_condition(stored, "Disabled")
    if reason == HoldReason.DISABLED and disabled.get("status") == "True":
        return as_time(disabled.get("lastTransitionTime"))
    held = stored_hold(stored)
    return held.since if held is not None and held.short == reason else None


def _status(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    why, check = disabled(snapshot), snapshot.check
    before = stored_condition(stored, "Disabled")
    is_disabled, shown = why is not None, why or NO_PROBLEM
    since = string(before, "lastTransitionTime") if before.get("status") == str(is_disabled) else ""
    conditions = [
        _condition("Disabled", since or stamp(now), shown.reason, shown.message, is_true=is_disabled),
        *storm_conditions(snapshot.storm),
    ]
    if check is None or snapshot.allowance is None:
        # Its numbers are unknown: the old ones stay.
        phase, reason = _phase(why, (), (), is_classic=True)
        return {"conditions": conditions, "phase": phase, "reason": reason}
    # A running timer alone is not published (NHC 2.1/17).
    published = [
        target
        for _, target in sorted(snapshot.targets.items())
        if target.verdict.health is Health.EXPIRED or target.requests
    ]
    remediating = any(target.requests for target in published)
    paused = check.spec.pause_requests if isinstance(check, NodeHealthCheck) else ()
    phase, reason = _phase(why, paused, published if remediating else (), is_classic=is_classic(check))
    healthy_since = {
        string(node, "name"): string(node, "conditionsHealthyTimestamp")
        for node in items(stored, "unhealthyNodes")
    }
    nodes = [_node(check, target, healthy_since, now) for target in published]
    listed = _with_room(nodes)
    if len(listed) < len(nodes):
        reason += f"; unhealthyNodes has room for {len(listed)} of {len(nodes)} nodes"
    hold = snapshot.holds.first
    if hold is not None and hold.reason is not HoldReason.DISABLED:  # its condition has reason and time
        # The reason of the phase Paused has the requests already.
        words = hold.words.short if paused and hold.reason is HoldReason.PAUSED else hold.words
        reason += f"{_HELD}{stamp(held_since(stored, hold.reason) or now)}: {words}"
    return {
        "observedNodes": snapshot.allowance.total,
        "healthyNodes": snapshot.allowance.healthy,
        _COUNT: snapshot.allowance.total - snapshot.allowance.healthy,
        "conditions": conditions,
        **({"unhealthyNodes": listed} if listed else {}),
        "phase": phase,
        "reason": reason,
    }


def _phase(
    why: CheckProblem | None,
    paused: tuple[str, ...],
    remediating: Sequence[TargetSnapshot],
    *,
    is_classic: bool,
) -> tuple[str, str]:
    """The phase and its reason; the first rule that matches wins (NHC 1.4)."""
    if why is not None:
        return "Disabled", f"NHC is disabled: {why.reason}: {why.message}"
    if paused:
        return "Paused", f"NHC is paused: {','.join(paused)}"
    if not remediating:
        return "Enabled", "NHC is enabled, no ongoing remediation"
    reason = f"NHC is remediating {len(remediating)} nodes"
    # The nodes whose remediators gave up (rule 22); only a few names are listed.
    failed = [t.name for t in remediating if any(request.succeeded is False for request in t.requests)]
    if is_classic and failed:
        more = f" and {len(failed) - MOST_NAMES} more" if len(failed) > MOST_NAMES else ""
        reason += f"; failed so far: {', '.join(failed[:MOST_NAMES])}{more}"
    return "Remediating", reason


def _condition(type_: str, since: str, reason: str, message: str, *, is_true: bool) -> dict[str, str]:
    return {
        "type": type_,
        "status": str(is_true),
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def _with_room(nodes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries that fit into the status, by name; nodes with a request come first."""
    room, kept = MOST_BYTES_OF_NODES, []
    for entry in sorted(nodes, key=lambda node: "remediations" not in node):
        room -= len(json.dumps(entry))
        if room < 0:
            break
        kept.append(entry)
    return sorted(kept, key=lambda node: str(node["name"]))


def _node(
    check: HealthCheck, target: TargetSnapshot, healthy_since: Mapping[str, str], now: datetime
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": target.name}
    if target.requests:
        plan = Plan(check.steps)
        entry["remediations"] = [
            _remediation(request, plan.timed_out_at(request, now)) for request in target.requests
        ]
    # A target that is gone or selected by another check has no uid here, and cannot recover.
    if target.verdict.health is Health.HEALTHY and target.uid:
        entry["conditionsHealthyTimestamp"] = healthy_since.get(target.name) or stamp(now)
        if check.healthy_delay > timedelta() and any(request.healthy_since for request in target.requests):
            entry["healthyDelayed"] = True
    return entry


def _remediation(request: RequestSnapshot, timed_out: datetime | None) -> dict[str, Any]:
    reference = request.reference
    resource = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
    }
    entry = {
        "resource": {key: value for key, value in resource.items() if value},
        "started": stamp(request.created),
        "timedOut": None if timed_out is None else stamp(timed_out),
        "templateName": reference.template,
    }
    return {key: value for key, value in entry.items() if value}


def storm_conditions(storm: Storm | None) -> list[dict[str, str]]:
    if storm is None:
        return []
    turned, cooldown_turned = stamp(storm.turned), stamp(storm.cooldown_turned)
    message = _STORM_MESSAGES[storm.is_active]
    cooldown_message = _COOLING if storm.is_cooling else _CLEARED if storm.is_active else _COMPLETED
    return [
        _condition(STORM, turned, _REASON, message, is_true=storm.is_active),
        _condition(COOLDOWN, cooldown_turned, _REASON, cooldown_message, is_true=storm.is_cooling),
    ]


def stored_storm(status: Status, now: datetime) -> Storm | None:
    """The storm in a stored status.

    A time in the future counts as now, which holds for longer.
    """
    storm, cooldown = stored_condition(status, STORM), stored_condition(status, COOLDOWN)
    if not storm:
        return None
    is_active = storm.get("status") == "True"
    turned = _turned(storm, now)
    return Storm(
        is_active=is_active,
        turned=turned,
        is_cooling=is_active and cooldown.get("status") == "True",
        cooldown_turned=_turned(cooldown, now) if cooldown else turned,
    )


def _turned(condition: Mapping[str, Any], now: datetime) -> datetime:
    second, turned = now.replace(microsecond=0), as_time(condition.get("lastTransitionTime"))
    return second if turned is None else min(turned.replace(microsecond=0), second)
