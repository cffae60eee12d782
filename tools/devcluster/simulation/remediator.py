"""`python -m devcluster.simulation.remediator`: power-cycles the simulated nodes of its requests.

It works on each unfinished request when that appears or changes. It finds the API server like kubectl. It
sets no finalizer: a deleted request is forgotten, and its power cycle is still completed. SIGTERM and SIGINT
end the process.

The simulated kubelets take one JSON object on one line, and answer with one such line:

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

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devcluster.errors import DevclusterError
from devcluster.simulation.controller import Controller
from devcluster.simulation.errors import BadRequestError
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.remediation import PowerCycleReconciler, PowerCycleRemediation
from devcluster.simulation.resources import REQUESTS
from devcluster.simulation.termination import run_until_terminated
from kube.client import Client
from kube.errors import KubernetesError
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.transport import Transport

LONGEST_POWER_OFF_SECONDS = 3600
FIELD_MANAGER = "demo-remediator"


class RemediationController:
    """Runs `work(key)` in `tasks`, at most once at a time for each request."""

    def __init__(self, work: Callable[[Key], Awaitable[None]], tasks: asyncio.TaskGroup) -> None:
        self._controller = Controller("request", work, tasks)

    def notice(self, change: Change[PowerCycleRemediation]) -> None:
        """Queue a request that appeared or changed, unless it is over."""
        if change.new is not None and not change.new.is_over:
            self._controller.enqueue(change.key)


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
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadRequestError(f"{field}: {first['msg']}, got {first['input']!r}") from error


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
        controller = RemediationController(remediation.carry_out, tasks)
        await Reflector(transport, REQUESTS, decode=PowerCycleRemediation, notify=controller.notice).run()


async def _run(control: Path) -> None:
    async with await Transport.connect(user_agent=FIELD_MANAGER) as transport:
        await remediate(transport, control)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="remediator", description="Demo remediator of simulated nodes.")
    parser.add_argument("--control", type=Path, required=True, help="control socket of the kubelets")
    return parser


if __name__ == "__main__":
    main()
