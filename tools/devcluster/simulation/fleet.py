"""Fleet: runs the kubelet of each machine as a task, and executes requests that switch them.

Requests for one machine are executed one after the other; a power cycle that is requested while the power is
off joins the one in progress. A machine may be removed before its request is executed, so each request checks
again that it exists.

A request on the control socket is one JSON object on one line, and so is its answer:

| request | answer |
|---|---|
| `{"stop": "node-3"}` | `{"node": {...}}`: it renews no Lease, like a machine that hangs |
| `{"start": "node-3"}` | `{"node": {...}}`: it continues on the same boot |
| `{"power_cycle": "node-3", "power_off_seconds": 2}` | `{"node": {...}}`, once it runs, on a new boot ID |
| `{"add": "node-x"}` | `{"node": {...}}`: a new machine, just booted, unless it exists |
| `{"remove": "node-x"}` | `{"removed": "node-x"}`: an added machine no longer exists |
| `{"list": true}` | `{"nodes": [{"name": ..., "boot_id": ..., "state": ...}, ...]}` |

The answer to any other request is `{"error": "<field>: <the problem>, got <value>"}`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devcluster.errors import BadRequestError
from devcluster.simulation.control_socket import Answer
from devcluster.simulation.machine_room import MachineRoom, SimulatedMachine
from objects.field_problem import FieldProblem

LONGEST_POWER_OFF_SECONDS = 3600
Kubelet = Callable[[SimulatedMachine], Coroutine[Any, Any, None]]


NodeName = Annotated[str, Field(min_length=1)]


class Request(BaseModel):
    """A request on the control socket, frozen and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StopKubelet(Request):
    """Stop a kubelet, as if its machine hung."""

    stop: NodeName


class StartKubelet(Request):
    """Start a kubelet on the same boot of its machine."""

    start: NodeName


class PowerCycle(Request):
    """Switch a machine off and, after a while, on again."""

    power_cycle: NodeName
    power_off_seconds: float = Field(default=2, ge=0, le=LONGEST_POWER_OFF_SECONDS)


class Add(Request):
    """Add a machine that is switched on, with a Node of this name."""

    add: NodeName


class Remove(Request):
    """Remove an added machine; the caller deletes its Node."""

    remove: NodeName


class ListNodes(Request):
    """List all machines with their boot ID and state."""

    list: Literal[True]


AnyRequest = StopKubelet | StartKubelet | PowerCycle | Add | Remove | ListNodes
KINDS: dict[str, type[AnyRequest]] = {
    "stop": StopKubelet,
    "start": StartKubelet,
    "power_cycle": PowerCycle,
    "add": Add,
    "remove": Remove,
    "list": ListNodes,
}


def parse(fields: Any) -> AnyRequest:  # noqa: ANN401  any JSON of a client
    """Parse decoded JSON; raises BadRequestError with the field and its value."""
    if not isinstance(fields, dict):
        raise BadRequestError(f"request: must be a JSON object, got {fields!r}")
    kinds = [kind for name, kind in KINDS.items() if name in fields]
    if len(kinds) != 1:
        raise BadRequestError(f"request: must have exactly one of {', '.join(KINDS)}, got {fields!r}")
    try:
        return kinds[0].model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = FieldProblem.of_details(first)
        raise BadRequestError(f"{problem.field}: {problem.words}, got {first['input']!r}") from error


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
