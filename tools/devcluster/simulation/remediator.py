"""`python -m devcluster.simulation.remediator`: power-cycles the simulated nodes of its requests.

It works on each unfinished request when that appears or changes. It finds the API server like kubectl. It
sets no finalizer: a deleted request is forgotten, and its power cycle is still completed. SIGTERM and SIGINT
end the process.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.simulation.control_socket import PowerSwitch
from devcluster.simulation.controller import Controller
from devcluster.simulation.remediation import PowerCycleReconciler, PowerCycleRemediation
from devcluster.simulation.resources import REQUESTS
from devcluster.simulation.termination import run_until_terminated
from kube.client import Client
from kube.errors import KubernetesError
from kube.record import Change
from kube.reflector import Reflector
from kube.transport import Transport

FIELD_MANAGER = "demo-remediator"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal; exits with one sentence on an error."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        asyncio.run(run_until_terminated(_run(options.control)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"remediator: {error}")


async def remediate(transport: Transport, control: Path) -> None:
    """Execute requests until cancelled; `control` is the control socket of the kubelets."""
    async with asyncio.TaskGroup() as tasks:
        remediation = PowerCycleReconciler(Client(transport, FIELD_MANAGER), PowerSwitch(control))
        controller = Controller("request", remediation.carry_out, tasks)

        def notice(change: Change[PowerCycleRemediation]) -> None:
            """Queue a request that appeared or changed, unless it is over."""
            if change.new is not None and not change.new.is_over:
                controller.enqueue(change.key)

        await Reflector(transport, REQUESTS, decode=PowerCycleRemediation, notify=notice).run()


async def _run(control: Path) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as transport:
        await remediate(transport, control)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="remediator", description="Demo remediator of simulated nodes.")
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    return parser


if __name__ == "__main__":
    main()
