import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devcluster.errors import BadRequestError
from devcluster.polling import until
from devcluster.simulation.fleet import Fleet
from devcluster.simulation.machine_room import MachineRoom, SimulatedMachine


class Kubelets:
    """Stands in for kubelets: remembers which run, and on which boots they were started."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.boots: list[str] = []
        self.silenced = asyncio.Event()

    async def run(self, machine: SimulatedMachine) -> None:
        self.running.add(machine.name)
        self.boots.append(machine.boot_id)
        try:
            await asyncio.Event().wait()
        finally:
            self.running.remove(machine.name)
            self.silenced.set()


class TestIsOver(Exception):
    __test__ = False


@asynccontextmanager
async def fleet_of(file: Path, kubelets: Kubelets) -> AsyncIterator[Fleet]:
    """Three machines whose kubelets run, ended with the block as a process is by SIGTERM."""
    ready: asyncio.Future[Fleet] = asyncio.get_running_loop().create_future()

    async def process() -> None:
        async with asyncio.TaskGroup() as tasks:
            fleet = Fleet(MachineRoom(file, 3), kubelets.run, tasks)
            fleet.start_all()
            ready.set_result(fleet)
            await asyncio.Event().wait()

    running = asyncio.create_task(process())
    fleet = await ready
    await asyncio.sleep(0)
    try:
        yield fleet
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
def kubelets() -> Kubelets:
    return Kubelets()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "machines.json"


async def states(fleet: Fleet) -> dict[str, str]:
    nodes = (await fleet.handle({"list": True}))["nodes"]
    return {node["name"]: node["state"] for node in nodes}


async def boot_id(fleet: Fleet, name: str) -> Any:
    nodes = (await fleet.handle({"list": True}))["nodes"]
    return next(node["boot_id"] for node in nodes if node["name"] == name)


async def test_stopped_kubelet_is_silent_and_the_others_go_on(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        answer = await fleet.handle({"stop": "node-2"})
        assert answer["node"]["state"] == "stopped"
        assert kubelets.running == {"node-1", "node-3"}


async def test_stopped_kubelet_stays_stopped_over_a_restart(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        await fleet.handle({"stop": "node-2"})
    async with fleet_of(file, kubelets) as fleet:
        assert kubelets.running == {"node-1", "node-3"}
        assert (await states(fleet))["node-2"] == "stopped"


async def test_started_kubelet_goes_on_with_the_same_boot(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        before = await boot_id(fleet, "node-2")
        await fleet.handle({"stop": "node-2"})
        await fleet.handle({"start": "node-2"})
        await asyncio.sleep(0)
        assert kubelets.running == {"node-1", "node-2", "node-3"}
        assert await boot_id(fleet, "node-2") == before


async def test_stopping_and_starting_twice_changes_nothing(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        for request in ({"stop": "node-2"}, {"stop": "node-2"}, {"start": "node-2"}, {"start": "node-2"}):
            await fleet.handle(request)
        await asyncio.sleep(0)
        assert len(kubelets.boots) == 4
        assert (await states(fleet))["node-2"] == "running"


@pytest.mark.parametrize("stopped", [False, True])
async def test_power_cycled_node_runs_on_a_new_boot(file: Path, kubelets: Kubelets, *, stopped: bool) -> None:
    async with fleet_of(file, kubelets) as fleet:
        before = await boot_id(fleet, "node-2")
        if stopped:
            await fleet.handle({"stop": "node-2"})
        answer = await fleet.handle({"power_cycle": "node-2", "power_off_seconds": 0})
        await asyncio.sleep(0)
        assert answer["node"]["state"] == "running"
        assert answer["node"]["boot_id"] != before
        assert kubelets.boots[-1] == answer["node"]["boot_id"]
        assert kubelets.running == {"node-1", "node-2", "node-3"}


async def test_node_is_silent_while_its_power_is_off(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        cycle = asyncio.create_task(fleet.handle({"power_cycle": "node-2", "power_off_seconds": 60}))
        await kubelets.silenced.wait()
        assert kubelets.running == {"node-1", "node-3"}
        assert await states(fleet) == {"node-1": "running", "node-2": "off", "node-3": "running"}
        cycle.cancel()


async def test_power_cycles_asked_for_together_are_one(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        request = {"power_cycle": "node-2", "power_off_seconds": 0.05}
        first, second = await asyncio.gather(fleet.handle(request), fleet.handle(request))
        await asyncio.sleep(0)
        assert first == second
        assert len(kubelets.boots) == 4


async def test_stop_during_a_power_cycle_is_carried_out_after_it(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        before = await boot_id(fleet, "node-2")
        cycle = asyncio.create_task(fleet.handle({"power_cycle": "node-2", "power_off_seconds": 0.05}))
        await kubelets.silenced.wait()
        await fleet.handle({"stop": "node-2"})
        await cycle
        assert (await states(fleet))["node-2"] == "stopped"
        assert await boot_id(fleet, "node-2") != before


async def test_client_that_leaves_does_not_end_the_power_cycle(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        before = await boot_id(fleet, "node-2")

        async def has_booted() -> bool:
            return bool(await boot_id(fleet, "node-2") != before)

        cycle = asyncio.create_task(fleet.handle({"power_cycle": "node-2", "power_off_seconds": 0.05}))
        await kubelets.silenced.wait()
        cycle.cancel()
        await until(has_booted, within=timedelta(seconds=60), otherwise="node-2 never booted")


@pytest.mark.parametrize("request_", [{"stop": "node-4"}, {"start": "node-0"}, {"power_cycle": "worker"}])
async def test_unknown_node_is_refused_with_the_known_ones(
    file: Path, kubelets: Kubelets, request_: dict[str, str]
) -> None:
    field, name = next(iter(request_.items()))
    async with fleet_of(file, kubelets) as fleet:
        with pytest.raises(BadRequestError, match=f"{field}: must be one of node-1 to node-3, got '{name}'"):
            await fleet.handle(request_)


async def test_added_machine_runs_and_can_be_stopped_as_any_other(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        await fleet.handle({"add": "node-a"})
        await asyncio.sleep(0)
        assert "node-a" in kubelets.running
        await fleet.handle({"stop": "node-a"})
        assert kubelets.running == {"node-1", "node-2", "node-3"}
        assert (await states(fleet))["node-a"] == "stopped"


async def test_adding_a_machine_twice_adds_one_and_leaves_it_as_it_is(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        await fleet.handle({"add": "node-a"})
        await fleet.handle({"stop": "node-a"})
        again = await fleet.handle({"add": "node-a"})
        assert again["node"]["state"] == "stopped"
        assert len(await states(fleet)) == 4


async def test_removed_machine_is_silent_and_unknown_also_when_asked_twice(
    file: Path, kubelets: Kubelets
) -> None:
    async with fleet_of(file, kubelets) as fleet:
        await fleet.handle({"add": "node-a"})
        await asyncio.sleep(0)
        for _ in range(2):
            assert await fleet.handle({"remove": "node-a"}) == {"removed": "node-a"}
        assert kubelets.running == set(await states(fleet)) == {"node-1", "node-2", "node-3"}


async def test_machine_of_the_fleet_cannot_be_removed(file: Path, kubelets: Kubelets) -> None:
    async with fleet_of(file, kubelets) as fleet:
        with pytest.raises(BadRequestError, match="remove: must be a machine that was added, got 'node-2'"):
            await fleet.handle({"remove": "node-2"})
        assert "node-2" in await states(fleet)


async def test_power_cycle_of_a_machine_that_is_removed_meanwhile_says_so(
    file: Path, kubelets: Kubelets
) -> None:
    async with fleet_of(file, kubelets) as fleet:
        await fleet.handle({"add": "node-a"})
        await asyncio.sleep(0)
        cycle = {"power_cycle": "node-a", "power_off_seconds": 0.05}
        first = asyncio.create_task(fleet.handle(cycle))
        await kubelets.silenced.wait()
        removal = asyncio.create_task(fleet.handle({"remove": "node-a"}))
        await first
        second = asyncio.create_task(fleet.handle(cycle))
        await removal
        with pytest.raises(BadRequestError, match="power_cycle: must be one of node-1 to node-3"):
            await second
        assert kubelets.running == {"node-1", "node-2", "node-3"}
