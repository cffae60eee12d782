"""Reads from audit logs which rows of the table of rights our processes used.

Only requests that a process made as itself count: tests use its kubeconfig for other things, and start it
with that of another process. tests/end_to_end/cluster_api covers its requests to workload clusters, which it
makes as other users.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from health.kinds.right import Process, Right
from runtime.process_names import NAMESPACE, SERVICE_ACCOUNTS

OURS = f"system:serviceaccount:{NAMESPACE}:"
PROCESSES = {f"{OURS}{account}": process for process, account in SERVICE_ACCOUNTS.items()}


class Call(NamedTuple):
    """One request, but for how often, when, and what was answered."""

    process: Process
    verb: str
    group: str
    resource: str
    """With its subresource."""
    namespace: str
    name: str

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in {self.namespace}" if self.namespace else ""
        return f"the {self.process} asked to {self.verb} {resource} {self.name!r}{where}"


class Use(NamedTuple):
    right: Right
    verb: str

    def __str__(self) -> str:
        return f"{self.right.process} {self.verb} {self.right} ({self.right.granted_by})"


def calls(audit_log: Path) -> Iterator[Call]:
    """All calls of our processes, each as often as it was made."""
    with audit_log.open() as lines:
        for line in lines:
            if OURS in line:  # the JSON of all others would cost more than the rest
                yield from _call(_event(line))


def _event(line: str) -> dict[str, Any] | None:
    try:
        event: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None  # a server that is killed leaves half a line, and goes on with another one in it
    return event


def _call(event: dict[str, Any] | None) -> Iterator[Call]:
    if event is None:
        return
    process = PROCESSES.get(event["user"]["username"])
    asked = event.get("objectRef")
    if process is None or asked is None or event.get("userAgent") != SERVICE_ACCOUNTS[process]:
        return
    parts = (asked["resource"], asked.get("subresource", ""))
    resource = "/".join(part for part in parts if part)
    where = asked.get("namespace", ""), asked.get("name", "")
    yield Call(process, event["verb"], asked.get("apiGroup", ""), resource, *where)


def uses(call: Call, rights: Iterable[Right]) -> list[Use]:
    """The rows that a call takes: where some are about its namespace, those."""
    found = [Use(right, call.verb) for right in rights if _covers(right, call)]
    return [use for use in found if use.right.namespace] or found


def _covers(right: Right, call: Call) -> bool:
    if (right.process, right.group, right.resource) != (call.process, call.group, call.resource):
        return False
    if right.namespace not in (None, call.namespace) or right.name not in (None, call.name):
        return False
    return call.verb in right.verbs


def all_uses(rights: Iterable[Right]) -> set[Use]:
    return {Use(right, verb) for right in rights for verb in right.verbs}
