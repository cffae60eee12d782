"""Reads the audit log of kube-apiserver, which is complete also after an outage."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kube.resource import Resource
from tests.support.story.world import REQUESTS

OK, CREATED = 200, 201
DETECTOR = "system:serviceaccount:paramedic-system:paramedic-detector"


def created_requests(audit_log: Path, kind: Resource = REQUESTS) -> list[str]:
    """The name of each remediation request of a kind that was ever created, in order."""
    return [
        event["objectRef"]["name"]
        for event in _events(audit_log, "create", CREATED)
        if event["objectRef"]["resource"] == kind.plural
    ]


def lists_of_detectors(audit_log: Path, since: datetime) -> dict[str, list[datetime]]:
    """When detectors listed each kind, since then."""
    lists: dict[str, list[datetime]] = {}
    for event in _events(audit_log, "list", OK):
        received = datetime.fromisoformat(event["requestReceivedTimestamp"])
        is_ours = event["user"]["username"] == DETECTOR
        if is_ours and received >= since and _is_whole(event["requestURI"]):
            lists.setdefault(event["objectRef"]["resource"], []).append(received)
    return lists


def _is_whole(uri: str) -> bool:
    """True for lists of a whole kind, and not of a single object."""
    return dict(parse_qsl(urlsplit(uri).query)).get("limit") != "1"


def _events(audit_log: Path, verb: str, code: int) -> Iterator[dict[str, Any]]:
    for line in audit_log.read_text().splitlines():
        # A killed server may leave an incomplete line.
        if line.startswith("{") and line.endswith("}"):
            event = json.loads(line)
            if event["verb"] == verb and event["responseStatus"].get("code") == code and "objectRef" in event:
                yield event
