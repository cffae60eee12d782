"""Counts the requests of our processes in the audit log of the API server."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from bench.cluster import BenchCluster
from objects.group_kind import ServedKind
from runtime.process_names import NAMESPACE

OURS = "system:serviceaccount:paramedic-system:"
WRITES = ("create", "update", "patch", "delete")


class ObjectRequest(NamedTuple):
    """A request for one object, or for its subresource."""

    verb: str
    name: str
    subresource: str


def writes_since(cluster: BenchCluster, since: datetime) -> int:
    """Our writes since then, without those of leader Leases and of our own status."""
    events = _ours_since(cluster, since)
    places = [event.get("objectRef", {}).get("namespace") for event in events if event["verb"] in WRITES]
    return sum(place != NAMESPACE for place in places)


def requests_for(cluster: BenchCluster, kind: ServedKind, since: datetime) -> list[ObjectRequest]:
    """Our requests for objects of a kind since then, with any answer; lists and watches have no name."""
    found = [
        event["objectRef"] | {"verb": event["verb"]}
        for event in _ours_since(cluster, since)
        if "objectRef" in event
    ]
    return [
        ObjectRequest(one["verb"], one.get("name", ""), one.get("subresource", ""))
        for one in found
        if (one.get("apiGroup", ""), one["resource"]) == (kind.group, kind.plural)
    ]


def _ours_since(cluster: BenchCluster, since: datetime) -> Iterator[dict[str, Any]]:
    for line in cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        is_late = datetime.fromisoformat(event["requestReceivedTimestamp"]) > since
        if is_late and event["user"]["username"].startswith(OURS):
            yield event
