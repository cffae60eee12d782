"""`python -m devcluster.simulation.kubelets`: N simulated kubelets in one process, and their control socket.

Finds the API server as kubectl does. What a kubelet is told stays told over a restart: the machines are
kept in a file beside the socket, with the ending `.machines.json`. Others are added and removed through the
socket while it runs. SIGTERM and SIGINT end the process; its
nodes fall silent then.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devcluster.errors import DevclusterError
from devcluster.simulation.arguments import count, seconds
from devcluster.simulation.control_socket import Answer, serve
from devcluster.simulation.fleet import Fleet
from devcluster.simulation.insistence import insist
from devcluster.simulation.kubelet import Kubelet, Pace
from devcluster.simulation.machine_room import MachineRoom
from devcluster.simulation.node_api import NodeApi
from devcluster.simulation.termination import run_until_told_to_end
from kube.errors import KubernetesError
from kube.transport import Transport


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until told to end; exits with one sentence if that is impossible."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        room = MachineRoom(options.control.with_suffix(".machines.json"), options.count)
        pace = Pace(options.renew_every, options.look_every)
        asyncio.run(run_until_told_to_end(_run(room, options.control, pace)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"kubelets: {error}")


async def simulate(transport: Transport, room: MachineRoom, control: Path, pace: Pace) -> None:
    """Run the kubelets of all machines, and answer at the control socket, until cancelled."""
    fleet: asyncio.Future[Fleet] = asyncio.get_running_loop().create_future()

    async def handle(fields: Any) -> Answer:  # noqa: ANN401  whatever JSON a client sent
        return await (await fleet).handle(fields)

    async with serve(control, handle), asyncio.TaskGroup() as tasks:
        api = NodeApi(transport)
        fleet.set_result(Fleet(room, lambda machine: Kubelet(machine, api, pace).run(), tasks))
        await insist("kubelets", api.ensure_lease_namespace, KubernetesError)
        fleet.result().start_all()
        await asyncio.Event().wait()


async def _run(room: MachineRoom, control: Path, pace: Pace) -> None:
    async with await Transport.connect(user_agent="kubelet/simulated") as transport:
        await simulate(transport, room, control, pace)


def _parser() -> argparse.ArgumentParser:
    default = Pace()
    parser = argparse.ArgumentParser(prog="kubelets", description="Simulated kubelets.")
    parser.add_argument("--count", type=count, required=True, help="how many nodes, node-1 and up")
    parser.add_argument("--control", type=Path, required=True, help="unix socket to be opened for requests")
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
    return parser


if __name__ == "__main__":
    main()
