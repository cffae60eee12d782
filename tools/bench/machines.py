"""OpenShift's MachineHealthCheck: writes of a short-circuited check, a storm, and single deletions.

One fleet grows from 100 over 500 to 1,000 Machines; they and their Nodes are plain objects.
"""

import asyncio
from datetime import UTC, datetime, timedelta

from bench.cluster import PROCESSES, BenchCluster
from bench.figure import Goal, p50_and_p99, scenario
from bench.fleet import (
    CHECK,
    DURATION_SECONDS,
    NAMESPACE,
    TEMPLATE,
    WARM_UP,
    AnyObject,
    Fleet,
    Times,
    watched,
    watched_fleet,
)
from devcluster.demo.fixtures import CHECKS
from devcluster.polling import until
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from kube.record import Change, ChangeKind
from kube.resource import Object
from objects.timestamps import stamp

HEARTBEATS_PER_SECOND = 10
"""As of 100 kubelets that report every ten seconds."""
SETTLED_SECONDS = 10.0
COUNTED_WITHIN = timedelta(minutes=2)


@scenario(
    "machines",
    (
        Goal("writes a second, check over 100 Machines short-circuited", 0),
        Goal("writes per heartbeat, check over 100 healthy Machines", 0),
        Goal("100 of 500 Machines fail, to the last request", 3, "s"),
        Goal("failure to deleted Machine, 1,000 Machines, p50", 0.3, "s"),
        Goal("failure to deleted Machine, 1,000 Machines, p99", 0.6, "s"),
    ),
)
async def machines(
    cluster: BenchCluster,
    sizes: tuple[int, int, int] = (100, 500, 1_000),
    failing: int = 100,
    quiet_seconds: float = 60,
) -> list[float]:
    """Measure each in turn; the check has a template only in the storm."""
    short_circuited, stormed, in_all = sizes
    unhealthy = short_circuited // 5
    deleted = Times()

    def note(change: Change[AnyObject]) -> None:
        if change.kind is ChangeKind.DELETED:
            deleted.note(change.key.name)

    async def edit_check(**spec: object) -> None:
        await cluster.client.merge_patch(CHECKS, CHECK, {"spec": spec}, NAMESPACE)

    async with watched_fleet(cluster) as fleet, watched(cluster, MACHINES, AnyObject, note):
        owner = await _add_check(fleet)
        await _grow_to(fleet, owner, short_circuited)
        await cluster.start(*PROCESSES)

        # More Machines are unhealthy than the check allows, then all are healthy.
        await fleet.set_ready(fleet.names[:unhealthy], "Unknown")
        await _until_counted(cluster, healthy=short_circuited - unhealthy)
        held, _ = await _writes_under_heartbeats(fleet, fleet.names[unhealthy:], quiet_seconds)
        await fleet.set_ready(fleet.names[:unhealthy], "True")
        await _until_counted(cluster, healthy=short_circuited)
        healthy, heartbeats = await _writes_under_heartbeats(fleet, fleet.names, quiet_seconds)

        # One storm, after one remediation as a warm-up.
        await edit_check(remediationTemplate=TEMPLATE, maxUnhealthy="100%")
        await _grow_to(fleet, owner, stormed)
        await fleet.remediate(fleet.names[-1:])
        last_came, _ = await fleet.remediate(fleet.names[:failing])

        # One Node fails after the other, and its Machine is deleted.
        await edit_check(remediationTemplate=None)
        await _grow_to(fleet, owner, in_all)
        found = await fleet.samples(fleet.names[stormed : stormed + WARM_UP + failing], deleted)
    return [held / quiet_seconds, healthy / heartbeats, last_came, *p50_and_p99(found)]


async def _add_check(fleet: Fleet) -> Object:
    """Create a template, a check without it, and an owner that never replaces a Machine: its reference."""
    await fleet.add_template()
    spec = {
        "maxUnhealthy": 0,
        "nodeStartupTimeout": "0",
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": f"{DURATION_SECONDS}s"}],
    }
    await fleet.create(CHECKS, CHECK, spec)
    made = await fleet.create(MACHINE_SETS, CHECK, {"replicas": 0})
    identity = {"name": CHECK, "uid": made["metadata"]["uid"], "controller": True}
    return {"apiVersion": MACHINE_SETS.api_version, "kind": MACHINE_SETS.kind, **identity}


async def _grow_to(fleet: Fleet, owner: Object, count: int) -> None:
    """Add healthy Nodes, each with a running Machine of its name, until there are `count`."""

    async def add(name: str) -> None:
        now = stamp(datetime.now(UTC))
        status = {"phase": "Running", "nodeRef": {"kind": "Node", "name": name}, "lastUpdated": now}
        await fleet.create(MACHINES, name, {}, status=status, ownerReferences=[owner])

    await asyncio.gather(*map(add, await fleet.grow_to(count)))


async def _until_counted(cluster: BenchCluster, healthy: int) -> None:
    async def is_counted() -> bool:
        check = await cluster.client.get(CHECKS, CHECK, NAMESPACE)
        counted: int | None = check.get("status", {}).get("currentHealthy")
        return counted == healthy

    await until(is_counted, within=COUNTED_WITHIN, otherwise=f"the check never counted {healthy} as healthy")


async def _writes_under_heartbeats(fleet: Fleet, nodes: list[str], seconds: float) -> tuple[int, int]:
    """The number of our writes and of heartbeats in the measured time."""
    await asyncio.sleep(SETTLED_SECONDS)
    since = datetime.now(UTC)
    count = await fleet.heartbeats(nodes, seconds, HEARTBEATS_PER_SECOND)
    return fleet.cluster.writes(since), count
