"""`python -m devcluster.simulation.kubelets`: N simulated kubelets in one process, and their control socket.

A kubelet registers its Node, then renews its Lease and reports its status until cancelled. It does not shut
down: a cancelled one is a machine that hangs. Failed requests are retried with back-off. Like a real kubelet,
it does not register a deleted Node again before its next start.

It finds the API server like kubectl. The state of each machine survives a restart, in a file beside the
socket (`.machines.json`). More machines can be added and removed through the socket. SIGTERM and SIGINT end
the process; its nodes become silent then.
"""

import argparse
import asyncio
import logging
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from devcluster.errors import DevclusterError
from devcluster.simulation import node_api
from devcluster.simulation.control_socket import Answer, count, seconds, serve
from devcluster.simulation.fleet import Fleet
from devcluster.simulation.machine_room import MachineRoom, SimulatedMachine
from devcluster.simulation.node_api import GUEST, WORKER, Appearance, NodeApi
from devcluster.simulation.retrying import BACKOFF, FailureLog
from devcluster.simulation.termination import run_until_terminated
from kube.errors import KubernetesError
from kube.transport import Transport
from runtime.problems import retry_forever


@dataclass(frozen=True)
class Intervals:
    """The intervals of a kubelet; the defaults are those of a real one."""

    renewal: timedelta = timedelta(seconds=10)
    """Between two renewals of the Lease."""
    look: timedelta = timedelta(seconds=10)
    """Between two checks whether the Node still shows the kubelet's status."""
    report: timedelta = timedelta(minutes=5)
    """Between two reports of an unchanged status."""


class Kubelet:
    """The kubelet of one machine, from one start to its cancellation."""

    def __init__(self, machine: SimulatedMachine, api: NodeApi, intervals: Intervals) -> None:
        self._machine = machine
        self._api = api
        self._intervals = intervals

    async def run(self) -> None:
        await self._retry(self._register)
        await asyncio.gather(
            self._every(self._intervals.renewal, self._renew),
            self._every(self._intervals.look, self._look),
        )

    async def _register(self) -> None:
        await self._api.register(self._machine, _now())
        await self._look()

    async def _renew(self) -> None:
        if await self._api.renew_lease(self._machine.name, _now()):
            return
        node = await self._api.find_node(self._machine.name)
        if node is not None:
            await self._api.create_lease(node, _now())

    async def _look(self) -> None:
        node = await self._api.find_node(self._machine.name)
        if node is not None and node_api.is_due(node, self._machine, _now(), self._intervals.report):
            await self._api.report(node, self._machine, _now())

    async def _every(self, period: timedelta, work: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(random.uniform(0, period.total_seconds()))  # noqa: S311  spreads load
        while True:
            await self._retry(work)
            await asyncio.sleep(period.total_seconds())

    async def _retry(self, work: Callable[[], Awaitable[None]]) -> None:
        longest = min(self._intervals.renewal, BACKOFF.longest)  # a fast pace comes with a short grace period
        backoff = replace(BACKOFF, longest=longest)
        await retry_forever(self._machine.name, work, (KubernetesError,), FailureLog(), backoff)


def _now() -> datetime:
    return datetime.now(UTC)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        room = MachineRoom(options.control.with_suffix(".machines.json"), options.count)
        intervals = Intervals(options.renew_every, options.look_every)
        appearance = GUEST if options.guests else WORKER
        asyncio.run(run_until_terminated(_run(room, options.control, intervals, appearance)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"kubelets: {error}")


async def simulate(
    transport: Transport,
    room: MachineRoom,
    control: Path,
    intervals: Intervals,
    appearance: Appearance = WORKER,
) -> None:
    """Run the kubelets of all machines, and the control socket, until cancelled."""
    fleet: asyncio.Future[Fleet] = asyncio.get_running_loop().create_future()

    async def handle(fields: Any) -> Answer:  # noqa: ANN401  any JSON of a client
        return await (await fleet).handle(fields)

    async with serve(control, handle), asyncio.TaskGroup() as tasks:
        api = NodeApi(transport, appearance)
        fleet.set_result(Fleet(room, lambda machine: Kubelet(machine, api, intervals).run(), tasks))
        await retry_forever("kubelets", api.ensure_lease_namespace, (KubernetesError,), FailureLog(), BACKOFF)
        fleet.result().start_all()
        await asyncio.Event().wait()


async def _run(room: MachineRoom, control: Path, intervals: Intervals, appearance: Appearance) -> None:
    async with await Transport.connect(user_agent="kubelet/simulated") as transport:
        await simulate(transport, room, control, intervals, appearance)


def _parser() -> argparse.ArgumentParser:
    default = Intervals()
    parser = argparse.ArgumentParser(prog="kubelets", description="Simulated kubelets.")
    parser.add_argument("--count", type=count, required=True, help="how many nodes, node-1 and up")
    parser.add_argument("--control", type=Path, required=True, help="path of the control socket to open")
    parser.add_argument(
        "--renew-every",
        type=seconds,
        default=default.renewal,
        help="seconds between Lease renewals (%(default)s)",
    )
    parser.add_argument(
        "--look-every",
        type=seconds,
        default=default.look,
        help="seconds between looks at the Node (%(default)s)",
    )
    parser.add_argument("--guests", action="store_true", help="join a cluster that also has real nodes")
    return parser


if __name__ == "__main__":
    main()
