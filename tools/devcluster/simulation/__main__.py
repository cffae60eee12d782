"""`python -m devcluster.simulation`: simulated nodes, a remediator, and on request one machine API.

The nodes, and the requests of the remediator, are in the cluster of $KUBECONFIG. `--provisioning` adds the
stand-in for OpenShift's machine API there. With `--management-kubeconfig` it is the stand-in for Cluster API:
its Machines are in that cluster, their nodes in the one of $KUBECONFIG.

Everything is done in rounds that read all state from the API servers, so the process may be killed at any
time. SIGTERM and SIGINT end it; its nodes become silent then.
"""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from devcluster.simulation.machine_api import OpenShiftApi
from devcluster.simulation.machines import MachineController, reconcile_cluster_api
from devcluster.simulation.nodes import attend_nodes
from devcluster.simulation.remediator import remediate
from devcluster.simulation.termination import run_until_terminated
from kube.client import Client
from kube.errors import KubernetesError
from kube.transport import Transport
from runtime.problems import Problems

USER_AGENT = "demo-simulation"
BETWEEN_ROUNDS = timedelta(seconds=0.3)
"""Of the remediator and the machine API."""


async def repeat(part: str, every: timedelta, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work again and again, also after a failure, which is logged once per transition."""
    problems = Problems("tries again")
    while True:
        try:
            await work()
            problems.report(part, None)
        except KubernetesError as error:
            problems.report(part, str(error))
        await asyncio.sleep(every.total_seconds())


async def simulate(
    nodes: Transport, renewal: timedelta, provisioning: timedelta | None, management: Transport | None
) -> None:
    """Run all parts until cancelled; `management` is the cluster of the Machines of Cluster API."""
    client = Client(nodes, USER_AGENT)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(repeat("nodes", renewal, lambda: attend_nodes(nodes, datetime.now(UTC))))
        if management is None:
            tasks.create_task(repeat("remediator", BETWEEN_ROUNDS, lambda: remediate(client)))
        if provisioning is not None and management is None:
            openshift = MachineController(
                api=OpenShiftApi(), management=client, workload=client, provisioning=provisioning
            )
            tasks.create_task(repeat("machines", BETWEEN_ROUNDS, openshift.reconcile))
        if provisioning is not None and management is not None:
            machines = Client(management, USER_AGENT)
            work = lambda: reconcile_cluster_api(machines, client, provisioning)  # noqa: E731  as above
            tasks.create_task(repeat("machines", BETWEEN_ROUNDS, work))


async def _run(renewal: timedelta, provisioning: timedelta | None, management: Path | None) -> None:
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(await Transport.connect(user_agent=USER_AGENT))
        other = None
        if management is not None:
            connecting = await Transport.connect(str(management), user_agent=USER_AGENT)
            other = await stack.enter_async_context(connecting)
        await simulate(nodes, renewal, provisioning, other)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGTERM or SIGINT ends the process."""
    parser = argparse.ArgumentParser(prog="simulation", description="Simulated nodes and their controllers.")
    parser.add_argument("--renew-every", type=float, default=10, help="seconds between Lease renewals")
    parser.add_argument("--provisioning", type=float, help="seconds that a Machine waits for its node")
    parser.add_argument(
        "--management-kubeconfig", type=Path, help="the cluster of the Machines of Cluster API"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    renewal = timedelta(seconds=options.renew_every)
    provisioning = None if options.provisioning is None else timedelta(seconds=options.provisioning)
    asyncio.run(run_until_terminated(_run(renewal, provisioning, options.management_kubeconfig)))


if __name__ == "__main__":
    main()
