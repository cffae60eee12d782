"""Fleet: runs the kubelet of each machine as a task, and executes requests that switch them.

Requests for one machine are executed one after the other; a power cycle that is requested while the power is
off joins the one in progress. A machine may be removed before its request is executed, so each request checks
again that it exists.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

from devcluster.simulation.control_socket import Answer
from devcluster.simulation.errors import BadRequestError
from devcluster.simulation.machine import SimulatedMachine
from devcluster.simulation.machine_room import MachineRoom
from devcluster.simulation.remediator import (
    Add,
    ListNodes,
    PowerCycle,
    Remove,
    StartKubelet,
    StopKubelet,
    parse,
)

Kubelet = Callable[[SimulatedMachine], Coroutine[Any, Any, None]]


class Fleet:
    """Runs `kubelet(machine)` as a task of `tasks` for every machine that is on and not stopped."""

    def __init__(self, room: MachineRoom, kubelet: Kubelet, tasks: asyncio.TaskGroup) -> None:
        self._room = room
        self._kubelet = kubelet
        self._tasks = tasks
        self._running: dict[str, asyncio.Task[None]] = {}
        self._power_cycles: dict[str, asyncio.Task[None]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def start_all(self) -> None:
        """Start every kubelet that was not stopped on purpose."""
        for name, slot in self._room.slots.items():
            if not slot.stopped:
                self._start(name)

    async def handle(self, fields: Any) -> Answer:  # noqa: ANN401  any JSON of a client
        """Execute one request of the control socket; raises BadRequestError."""
        match parse(fields):
            case StopKubelet(stop=name):
                return await self._stop_kubelet(name)
            case StartKubelet(start=name):
                return await self._start_kubelet(name)
            case PowerCycle(power_cycle=name, power_off_seconds=seconds):
                return await self._power_cycle(name, seconds)
            case Add(add=name):
                return await self._add(name)
            case Remove(remove=name):
                return await self._remove(name)
            case ListNodes():
                return {"nodes": [self._describe(name) for name in self._room.slots]}

    async def _stop_kubelet(self, name: str) -> Answer:
        async with self._locks[name]:
            self._require(name, "stop")
            await self._end(name)
            self._room.stop(name)
            return {"node": self._describe(name)}

    async def _start_kubelet(self, name: str) -> Answer:
        async with self._locks[name]:
            self._require(name, "start")
            self._room.start(name)
            self._start(name)
            return {"node": self._describe(name)}

    async def _add(self, name: str) -> Answer:
        async with self._locks[name]:
            if name not in self._room.slots:
                self._room.add(name)
                self._start(name)
            return {"node": self._describe(name)}

    async def _remove(self, name: str) -> Answer:
        async with self._locks[name]:
            slot = self._room.slots.get(name)
            if slot is not None and not slot.is_added:
                raise BadRequestError(f"remove: must be a machine that was added, got {name!r}")
            await self._end(name)
            self._room.remove(name)
            return {"removed": name}

    async def _power_cycle(self, name: str, seconds: float) -> Answer:
        self._require(name, "power_cycle")
        under_way = self._power_cycles.get(name)
        if under_way is None:
            under_way = self._tasks.create_task(self._switch_off_and_on(name, seconds))
            self._power_cycles[name] = under_way
        await asyncio.shield(under_way)
        self._require(name, "power_cycle")
        return {"node": self._describe(name)}

    async def _switch_off_and_on(self, name: str, seconds: float) -> None:
        async with self._locks[name]:
            if name in self._room.slots:
                await self._end(name)
                await asyncio.sleep(seconds)
                self._room.boot(name)
                self._start(name)
        del self._power_cycles[name]

    def _start(self, name: str) -> None:
        if name not in self._running:
            machine = self._room.slots[name].machine
            self._running[name] = self._tasks.create_task(self._kubelet(machine), name=name)

    async def _end(self, name: str) -> None:
        """End a kubelet without a shutdown, like a machine that hangs or loses power."""
        task = self._running.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _require(self, name: str, field: str) -> None:
        if name not in self._room.slots:
            raise BadRequestError(f"{field}: must be one of {self._room.names}, got {name!r}")

    def _describe(self, name: str) -> dict[str, str]:
        state = "off" if name in self._power_cycles else "running" if name in self._running else "stopped"
        return {"name": name, "boot_id": self._room.slots[name].machine.boot_id, "state": state}
