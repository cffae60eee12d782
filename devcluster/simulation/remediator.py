"""`python -m devcluster.simulation.remediator`: power-cycles the simulated nodes that requests are for.

Finds the API server as kubectl does. Sets no finalizer: a request that is deleted is forgotten, and a
power cycle under way then goes on to its end. SIGTERM and SIGINT end the process.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.remediation import Remediation
from devcluster.simulation.remediation_queue import RemediationQueue
from devcluster.simulation.remediation_request import RemediationRequest
from devcluster.simulation.resources import REQUESTS
from devcluster.simulation.termination import run_until_told_to_end
from kube.client import Client
from kube.errors import KubernetesError
from kube.reflector import Reflector
from kube.transport import Transport

FIELD_MANAGER = "demo-remediator"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until told to end; exits with one sentence if that is impossible."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        asyncio.run(run_until_told_to_end(_run(options.control)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(f"remediator: {error}")


async def remediate(transport: Transport, control: Path) -> None:
    """Carry out requests until cancelled; `control` is the control socket of the kubelets."""
    async with asyncio.TaskGroup() as tasks:
        remediation = Remediation(Client(transport, FIELD_MANAGER), PowerSwitch(control))
        queue = RemediationQueue(remediation.carry_out, tasks)
        await Reflector(transport, REQUESTS, decode=RemediationRequest, notify=queue.notice).run()


async def _run(control: Path) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as transport:
        await remediate(transport, control)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="remediator", description="Demo remediator of simulated nodes.")
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    return parser


if __name__ == "__main__":
    main()
