"""`python -m devcluster.simulation.machine_set`: OpenShift's machine API, on simulated hardware.

It keeps the number of Machines of each MachineSet, and gives each Machine a simulated node. It finds the API
server like kubectl. All state is in the API server, so the process may be killed at any time. SIGTERM and
SIGINT end it.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.simulation.control_socket import seconds
from devcluster.simulation.controller import Controller
from devcluster.simulation.machine_room import MachineWatch
from devcluster.simulation.machine_set_upkeep import MachineSetUpkeep
from devcluster.simulation.machine_upkeep import MachineUpkeep
from devcluster.simulation.openshift_machine import OpenShiftMachine, OpenShiftMachineSet
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.resources import MACHINE_SETS, MACHINES
from devcluster.simulation.termination import run_until_terminated
from health.model.node import Node
from kube.client import Client
from kube.errors import KubernetesError
from kube.reflector import Change, Reflector
from kube.resource import NODES
from kube.transport import Transport

FIELD_MANAGER = "demo-machine-api"
PROVISIONING = timedelta(seconds=5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        asyncio.run(run_until_terminated(_run(options.control, options.provisioning)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"machine_set: {error}")


async def keep_machines(transport: Transport, control: Path, provisioning: timedelta) -> None:
    """Control all Machines and MachineSets until cancelled.

    `control` is the control socket of the kubelets, `provisioning` the time a Machine waits for its hardware.
    """
    client = Client(transport, FIELD_MANAGER)
    async with asyncio.TaskGroup() as tasks:
        upkeep = MachineUpkeep(client, PowerSwitch(control), provisioning)
        machines = Controller(MACHINES.kind, upkeep.look_after, tasks)

        def node_changed(change: Change[Node]) -> None:
            watch.node_changed(change)

        nodes = Reflector(transport, NODES, Node, notify=node_changed)
        sets = Controller(MACHINE_SETS.kind, MachineSetUpkeep(client, nodes).look_after, tasks)
        watch = MachineWatch(machines.enqueue, sets.enqueue)
        tasks.create_task(nodes.run())
        tasks.create_task(
            Reflector(transport, MACHINES, OpenShiftMachine, notify=watch.machine_changed).run()
        )
        tasks.create_task(
            Reflector(transport, MACHINE_SETS, OpenShiftMachineSet, notify=watch.machine_set_changed).run()
        )


async def _run(control: Path, provisioning: timedelta) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as transport:
        await keep_machines(transport, control, provisioning)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="machine_set", description="Machines on simulated hardware.")
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    parser.add_argument(
        "--provisioning",
        type=seconds,
        default=PROVISIONING,
        help="seconds that a Machine waits for its hardware (%(default)s)",
    )
    return parser


if __name__ == "__main__":
    main()
