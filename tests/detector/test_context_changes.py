"""The cluster context changes with each event of a watch."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from detector.feeds.cluster_context_watch import ClusterContextWatch
from detector.nodehealthcheck.kind import MACHINE_HEALTH_CHECKS
from health.cluster.global_stop import STOP, Stop
from health.kinds.nodehealthcheck.disabled import OtherChecks
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from kube.connection import ClusterConnection
from kube.resource import NAMESPACES, Object, Resource
from kube.transport import Transport
from objects.group_kind import GroupKind
from tests.support.api.api_server import ApiServer, lines, said
from tests.support.api.eventually import eventually

NAMESPACE = "leases"


def changed(change: str, name: str, version: int, spec: Object | None = None, stop: str = "") -> Object:
    metadata = {
        "name": name,
        "uid": "u",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {STOP: stop} if stop else {},
    }
    return {"type": change, "object": {"metadata": metadata, "spec": spec or {}}}


async def contexts(
    server: ApiServer, transport: Transport, resource: Resource, *changes: Object
) -> list[tuple[Stop | None, dict[GroupKind, Any]]]:
    """The global stop and the contexts of kinds after each of these watch events."""
    for watched in (NAMESPACES, MACHINE_HEALTH_CHECKS):
        server.answer("GET", watched.path(), said({"metadata": {"resourceVersion": "10"}, "items": []}))
        server.watch(watched.path(), lines(*(changes if watched == resource else ()), then="silent"))
    noted: list[tuple[Stop | None, dict[GroupKind, Any]]] = []
    context = ClusterContextWatch(
        ClusterConnection.over(transport),
        NAMESPACE,
        (),
        (NODE_HEALTH_CHECK.group_kind,),
        lambda: noted.append((context.stop(), context.of_kinds())),
    )
    running = [asyncio.create_task(source.run()) for source in context.sources.values()]
    await eventually(lambda: len(noted) == len(changes))
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return noted


@pytest.mark.rule("rule 42")
async def test_annotation_stops_from_when_it_is_put_on_until_it_is_taken_off(
    server: ApiServer, transport: Transport
) -> None:
    noted = await contexts(
        server,
        transport,
        NAMESPACES,
        changed("ADDED", NAMESPACE, 11),
        changed("MODIFIED", NAMESPACE, 12, stop="power work in row 7"),
        changed("MODIFIED", NAMESPACE, 13),
    )
    stops = [stop.words if stop else "" for stop, _ in noted]
    assert stops == ["", "stopped in the whole cluster: power work in row 7", ""]


@pytest.mark.rule("NHC 2.0/MachineHealthChecks", "NHC 2.1/4")
async def test_conflict_lasts_from_when_a_machine_health_check_is_made_until_it_is_deleted(
    server: ApiServer, transport: Transport
) -> None:
    terminating: dict[str, Any] = {"unhealthyConditions": [{"type": "Terminating"}]}
    noted = await contexts(
        server,
        transport,
        MACHINE_HEALTH_CHECKS,
        changed("ADDED", "termination", 11, terminating),
        changed("ADDED", "workers", 12, {"unhealthyConditions": [{"type": "Ready"}]}),
        changed("DELETED", "workers", 13, {"unhealthyConditions": [{"type": "Ready"}]}),
    )
    assert [of_kinds[NODE_HEALTH_CHECK.group_kind] for _, of_kinds in noted] == [
        OtherChecks.TERMINATING_ONLY,
        OtherChecks.OTHERS,
        OtherChecks.TERMINATING_ONLY,
    ]
