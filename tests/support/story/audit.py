"""Reads from the audit log of kube-apiserver how our processes accessed the objects of one test."""

import json
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHandle

from tests.support.story.world import World

WORKER, DETECTOR = "paramedic-worker", "paramedic-detector"
WRITES = frozenset({"create", "update", "patch", "delete"})
QUIET_LOOKS = 6
Ask = tuple[str, str, str, int]
"""User, verb, kind and name with subresource, and response code."""


def writes(audit_log: Path, namespace: str) -> list[Ask]:
    """Every write of our processes into a namespace, in order, with any response code."""
    return [ask for ask in _asked(audit_log, namespace) if ask[1] in WRITES]


async def until_quiet(world: World, audit_log: Path, *incidents: WorkflowHandle[Any, Any]) -> None:
    """Wait until our processes write nothing here, and wake none of these incidents, for a second."""
    seen: list[tuple[int, ...]] = []

    async def is_quiet() -> bool:
        lengths = [(await incident.describe()).history_length for incident in incidents]
        seen.append((len(writes(audit_log, world.name)), *lengths))
        return len(seen) > QUIET_LOOKS and len(set(seen[-QUIET_LOOKS:])) == 1

    await world.until(is_quiet, f"there are always writes: {seen[-QUIET_LOOKS:]}")


def deletions(audit_log: Path, namespace: str, machine: str) -> list[int]:
    """The response code of each of our deletions of a Machine."""
    return [
        code
        for _, verb, what, code in _asked(audit_log, namespace)
        if (verb, what) == ("delete", f"machines/{machine}")
    ]


def _asked(audit_log: Path, namespace: str) -> list[Ask]:
    found = []
    for line in audit_log.read_text().splitlines():
        if namespace not in line or not line.endswith("}"):
            continue
        event = json.loads(line)
        who, target = event["user"]["username"].rpartition(":")[2], event.get("objectRef", {})
        if who not in (WORKER, DETECTOR) or target.get("namespace") != namespace:
            continue
        parts = (target["resource"], target.get("name", ""), target.get("subresource", ""))
        what = "/".join(part for part in parts if part)
        found.append((who, event["verb"], what, event["responseStatus"].get("code", 0)))
    return found
