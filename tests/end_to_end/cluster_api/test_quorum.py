"""Rancher's Machines of the control plane, which a MachineSet owns: one is marked, the others wait."""

import asyncio

import pytest

from devcluster.simulation.machine_api import CLUSTER_NAME
from tests.end_to_end.cluster_api.fleet import OWNER, Fleet

pytestmark = pytest.mark.cluster

ETCD = {"rke.cattle.io/etcd-role": "true", "rke.cattle.io/control-plane-role": "true"}

WAITS = "one member of a quorum at a time: "


@pytest.mark.rule("rule 21", "rule 61", "CAPI B.2.6/replaced")
async def test_of_three_machines_one_is_marked_and_the_next_one_when_it_is_well(fleet: Fleet) -> None:
    labels = {CLUSTER_NAME: fleet.cluster, "pool": "workers"} | ETCD
    names = await fleet.add("a", "b", "c", labels=labels)
    await fleet.add_check()
    await fleet.until_healthy(*names)
    await asyncio.gather(*(fleet.nodes.fail(name) for name in names))
    first = await until_one_is_marked(fleet, *names)
    waiting = [name for name in names if name != first]
    for name in waiting:
        await fleet.until_held(name, WAITS)
    assert await marked(fleet, *waiting) == []

    await fleet.nodes.recover(first)
    assert await fleet.outcome(first) == "Remediated"
    second = await until_one_is_marked(fleet, *waiting)
    (third,) = set(waiting) - {second}
    await fleet.until_held(third, WAITS)
    assert await marked(fleet, third) == []


async def marked(fleet: Fleet, *names: str) -> list[str]:
    return [name for name in names if await fleet.condition(name, OWNER)]


async def until_one_is_marked(fleet: Fleet, *names: str) -> str:
    found: list[str] = []

    async def is_one() -> bool:
        found[:] = await marked(fleet, *names)
        return bool(found)

    await fleet.world.until(is_one, "no Machine was marked")
    (one,) = found
    return one
