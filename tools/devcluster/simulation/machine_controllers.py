"""`python -m devcluster.simulation.machine_controllers`: one machine API, on simulated hardware.

It keeps the number of Machines of each MachineSet, and gives each Machine a simulated node. Without
`--workload-kubeconfig` it stands in for OpenShift's machine API. With it, it stands in for Cluster API: the
nodes are in the workload cluster, and Machines that health checks mark for their owner are replaced. It then
uses the newest served version, and changes it when that changes.

It finds the cluster of the Machines like kubectl. All state is in the API servers, so the process may be
killed at any time. SIGTERM and SIGINT end it.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.simulation.control_socket import PowerSwitch, count, seconds
from devcluster.simulation.controller import Controller
from devcluster.simulation.machine_api import ClusterApi, MachineApi, OpenShiftApi
from devcluster.simulation.machine_object import MachineObject, MachineSetObject
from devcluster.simulation.machine_set_upkeep import MachineSetUpkeep
from devcluster.simulation.machine_upkeep import MachineUpkeep
from devcluster.simulation.resources import MACHINE_SETS
from devcluster.simulation.retrying import BACKOFF, FailureLog
from devcluster.simulation.termination import run_until_terminated
from health.model.node import Node
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import KindUnknown, KubernetesError
from kube.record import Change, Key, key_of
from kube.reflector import Reflector
from kube.resource import NODES
from kube.transport import Transport
from runtime.problems import retry_forever

FIELD_MANAGER = "demo-machine-api"
PROVISIONING = timedelta(seconds=5)
BETWEEN_LOOKS = timedelta(seconds=1)
"""The interval between looks at the served versions."""


@dataclass(frozen=True)
class Provider:
    """How Machines get their simulated hardware, and when."""

    control: Path
    """The control socket of the kubelets."""
    provisioning: timedelta
    """How long a Machine waits for its hardware."""
    max_in_flight: int | None = None
    """The most marked Machines of a set that may be replaced at once; None: no limit."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    provider = Provider(options.control, options.provisioning, options.max_in_flight)
    try:
        asyncio.run(run_until_terminated(_run(options.workload_kubeconfig, provider)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"machine_controllers: {error}")


Enqueue = Callable[[Key], None]


class MachineWatch:
    """Passes the key of each changed Machine to `machine`, and that of its set to `machine_set`."""

    def __init__(self, machine: Enqueue, machine_set: Enqueue) -> None:
        self._enqueue_machine = machine
        self._enqueue_machine_set = machine_set
        self._by_node: dict[str, MachineObject] = {}

    def machine_set_changed(self, change: Change[MachineSetObject]) -> None:
        self._enqueue_machine_set(change.key)

    def machine_changed(self, change: Change[MachineObject]) -> None:
        """Notify also the previous owner, by the Machine's earlier state."""
        if change.old is not None:
            self._by_node.pop(change.old.node_name, None)
            self._enqueue(change.old)
        if change.new is not None:
            self._by_node[change.new.node_name] = change.new
            self._enqueue(change.new)

    def node_changed(self, change: Change[Node]) -> None:
        """Notify the Machine of the Node; the Nodes of the initial fleet have none."""
        if machine := self._by_node.get(change.key.name):
            self._enqueue(machine)

    def _enqueue(self, machine: MachineObject) -> None:
        self._enqueue_machine(key_of(machine))
        owner = machine.controller
        if owner is not None and owner.kind == MACHINE_SETS.kind:
            self._enqueue_machine_set(Key(machine.metadata.namespace, owner.name))


async def keep_machines(
    api: MachineApi, management: Transport, workload: Transport, provider: Provider
) -> None:
    """Control all Machines and MachineSets until cancelled; `workload` is the cluster of their Nodes."""
    client, in_workload = Client(management, FIELD_MANAGER), Client(workload, FIELD_MANAGER)
    async with asyncio.TaskGroup() as tasks:
        upkeep = MachineUpkeep(
            api=api,
            management=client,
            workload=in_workload,
            switch=PowerSwitch(provider.control),
            provisioning=provider.provisioning,
        )
        machines = Controller(api.machines.kind, upkeep.look_after, tasks)

        def node_changed(change: Change[Node]) -> None:
            watch.node_changed(change)

        nodes = Reflector(workload, NODES, Node, notify=node_changed)
        of_set = MachineSetUpkeep(
            api=api, management=client, nodes=nodes, max_in_flight=provider.max_in_flight
        )
        sets = Controller(api.machine_sets.kind, of_set.look_after, tasks)
        watch = MachineWatch(machines.enqueue, sets.enqueue)
        tasks.create_task(nodes.run())
        tasks.create_task(
            Reflector(management, api.machines, MachineObject, notify=watch.machine_changed).run()
        )
        tasks.create_task(
            Reflector(management, api.machine_sets, MachineSetObject, notify=watch.machine_set_changed).run()
        )


async def keep_cluster_api_machines(management: Transport, workload: Transport, provider: Provider) -> None:
    """Control the Machines of Cluster API until cancelled, in the newest served version."""
    while True:
        api = await _newest(management)
        work = asyncio.create_task(keep_machines(api, management, workload, provider))
        change = asyncio.create_task(_until_other_than(api, management))
        try:
            ended, _ = await asyncio.wait((work, change), return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            work.cancel()
            change.cancel()
            await asyncio.gather(work, change, return_exceptions=True)


async def _newest(management: Transport) -> ClusterApi:
    async def look() -> ClusterApi:
        try:
            await Discovery(management).resource("cluster.x-k8s.io/v1beta2", "Machine")
        except KindUnknown:
            return ClusterApi("v1beta1")
        return ClusterApi("v1beta2")

    return await retry_forever("versions of Cluster API", look, (KubernetesError,), FailureLog(), BACKOFF)


async def _until_other_than(api: ClusterApi, management: Transport) -> None:
    while await _newest(management) == api:  # noqa: ASYNC110  the change comes from the API server
        await asyncio.sleep(BETWEEN_LOOKS.total_seconds())


async def _run(workload_kubeconfig: Path | None, provider: Provider) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as management:
        if workload_kubeconfig is None:
            await keep_machines(OpenShiftApi(), management, management, provider)
            return
        async with await Transport.connect(str(workload_kubeconfig), user_agent=FIELD_MANAGER) as workload:
            await keep_cluster_api_machines(management, workload, provider)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="machine_controllers", description="A machine API on simulated hardware."
    )
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    parser.add_argument(
        "--workload-kubeconfig",
        type=Path,
        help="kubeconfig of the cluster of the nodes: Cluster API instead of OpenShift's machine API",
    )
    parser.add_argument(
        "--provisioning",
        type=seconds,
        default=PROVISIONING,
        help="seconds that a Machine waits for its hardware (%(default)s)",
    )
    parser.add_argument(
        "--max-in-flight", type=count, help="how many marked Machines of a set may be replaced at once (all)"
    )
    return parser


if __name__ == "__main__":
    main()
