"""The status of a NodeHealthCheck (NHC 1.2 to 1.4). Pure.

Numbers are correct in every phase (rule 17), and the reason names the hold of the check (rule 55). Two
snapshots with the same published values give the same status except lastUpdateTime, which only changes with
another field, so an unchanged status is never written.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from health.kinds.nodehealthcheck.disabled import Disabled, disabled
from health.kinds.nodehealthcheck.storm import storm_conditions
from health.model.details import HoldWords
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason
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


def status_patch(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    """The merge patch that corrects `stored`; empty if it is correct."""
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


def _status(snapshot: CheckSnapshot, stored: Status, now: datetime) -> dict[str, Any]:
    why = disabled(snapshot)
    conditions = [_condition(why, stored, now), *storm_conditions(snapshot.storm)]
    if isinstance(snapshot.check, InvalidCheckError) or snapshot.allowance is None:
        # Its numbers are unknown: the old ones stay.
        return {"conditions": conditions, **_phase(why, (), (), is_classic=True)}
    published = [target for _, target in sorted(snapshot.targets.items()) if target.is_published]
    remediating = any(target.requests for target in published)
    paused = snapshot.check.spec.pause_requests if isinstance(snapshot.check, NodeHealthCheck) else ()
    phase = _phase(why, paused, published if remediating else (), is_classic=is_classic(snapshot.check))
    healthy_since = _healthy_since(stored)
    nodes = [_node(snapshot.check, target, healthy_since, now) for target in published]
    listed = _with_room(nodes)
    if len(listed) < len(nodes):
        phase["reason"] += f"; unhealthyNodes has room for {len(listed)} of {len(nodes)} nodes"
    return {
        "observedNodes": snapshot.allowance.total,
        "healthyNodes": snapshot.allowance.healthy,
        _COUNT: snapshot.allowance.total - snapshot.allowance.healthy,
        "conditions": conditions,
        **({"unhealthyNodes": listed} if listed else {}),
        **_with_hold(phase, snapshot.holds.first, stored, now),
    }


def _phase(
    why: Disabled, paused: tuple[str, ...], remediating: Sequence[TargetSnapshot], *, is_classic: bool
) -> dict[str, str]:
    """The first rule that matches wins (NHC 1.4)."""
    if why.is_disabled:
        return {"phase": "Disabled", "reason": f"NHC is disabled: {why.reason}: {why.message}"}
    if paused:
        return {"phase": "Paused", "reason": f"NHC is paused: {','.join(paused)}"}
    if remediating:
        words = f"NHC is remediating {len(remediating)} nodes"
        return {"phase": "Remediating", "reason": words + (_failed(remediating) if is_classic else "")}
    return {"phase": "Enabled", "reason": "NHC is enabled, no ongoing remediation"}


_HELD = "; no new remediation is begun since "
_STORED_HOLD = re.compile(rf"{_HELD}(\S+): (\w+)")
"""The schema of the operator has no field for a hold, so a new leader learns it from this text."""
_SAID_BY_ITS_PHASE = frozenset({HoldReason.DISABLED, HoldReason.PAUSED})


def _with_hold(phase: dict[str, str], hold: Hold | None, stored: Status, now: datetime) -> dict[str, str]:
    """The phase is the operator's, which knows no other hold, so the hold is added to the reason."""
    if hold is None or hold.reason in _SAID_BY_ITS_PHASE:
        return phase
    since = stamp(held_since(stored, hold.reason) or now)
    return {**phase, "reason": f"{phase['reason']}{_HELD}{since}: {hold.words}"}


def stored_hold(stored: Status) -> HoldWords | None:
    """The hold in a stored status, without its sentence; None without one."""
    found = _STORED_HOLD.search(string(stored, "reason"))
    return HoldWords(short=found[2], since=as_time(found[1])) if found else None


def held_since(stored: Status, reason: str) -> datetime | None:
    """When the hold of this reason began; None: the status does not tell, as for a pause."""
    disabled = stored_condition(stored, "Disabled")
    if reason == HoldReason.DISABLED and disabled.get("status") == "True":
        return as_time(disabled.get("lastTransitionTime"))
    held = stored_hold(stored)
    return held.since if held is not None and held.short == reason else None


def _failed(targets: Sequence[TargetSnapshot]) -> str:
    """The nodes whose remediators gave up (rule 22); only a few names are listed."""
    names = [t.name for t in targets if any(request.succeeded is False for request in t.requests)]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"; failed so far: {', '.join(names[:MOST_NAMES])}{more}"


def _condition(why: Disabled, stored: Status, now: datetime) -> dict[str, str]:
    status = "True" if why.is_disabled else "False"
    before = stored_condition(stored, "Disabled")
    since = string(before, "lastTransitionTime") if before.get("status") == status else ""
    return {
        "type": "Disabled",
        "status": status,
        "reason": why.reason,
        "message": why.message,
        "lastTransitionTime": since or stamp(now),
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
    entry: dict[str, Any] = {
        "resource": {key: value for key, value in resource.items() if value},
        "started": stamp(request.created),
    }
    if timed_out is not None:
        entry["timedOut"] = stamp(timed_out)
    if reference.template:
        entry["templateName"] = reference.template
    return entry


def _healthy_since(stored: Status) -> dict[str, str]:
    """The stored times by name of the node; a later look must not move them."""
    nodes = items(stored, "unhealthyNodes")
    return {string(node, "name"): string(node, "conditionsHealthyTimestamp") for node in nodes}
