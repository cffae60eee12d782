"""Values for tests of both Machine APIs: snapshots of Machines, requests, and errors of specs."""

from datetime import datetime, timedelta
from typing import Any

from health.check.check_snapshot import TargetSnapshot
from health.model.remediation_request import INCIDENT, RemediationRequest
from health.model.verdict import HEALTHY, Fact, Health, Verdict
from tests.support.values.builders import NOW


def expired(name: str = "machine-1", *, since: datetime = NOW, **fields: Any) -> TargetSnapshot:
    return _not_ready(Health.EXPIRED, name, since, **fields)


def waiting(name: str = "machine-1", *, since: datetime = NOW, **fields: Any) -> TargetSnapshot:
    return _not_ready(Health.WAITING, name, since, **fields)


def recovered(name: str = "machine-1", **fields: Any) -> TargetSnapshot:
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=HEALTHY, node_name="node-1", **fields)


def _not_ready(health: Health, name: str, since: datetime, **fields: Any) -> TargetSnapshot:
    fact = Fact(condition="Ready", status="False", since=since)
    verdict = Verdict(health=health, reason="not ready", fact=fact, deadline=since + timedelta(minutes=5))
    return TargetSnapshot(name=name, uid=f"uid-{name}", verdict=verdict, node_name="node-1", **fields)


def request(*owners: dict[str, str], namespace: str, incident: str = "") -> RemediationRequest:
    """A request for `machine-1` with these owners, which this incident made."""
    metadata = {
        "name": "machine-1",
        "namespace": namespace,
        "uid": "request-uid",
        "creationTimestamp": "2026-03-01T12:00:00Z",
        "annotations": {INCIDENT: incident} if incident else {},
        "ownerReferences": owners,
    }
    return RemediationRequest.model_validate({"metadata": metadata})
