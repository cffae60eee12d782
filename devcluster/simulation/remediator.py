"""`python -m devcluster.simulation.remediator`: power-cycles the simulated nodes that requests are for.

Each request that is not over is taken up when it appears or changes. The API server is found as kubectl finds
it. No finalizer is set: a request that is deleted is forgotten, and a power cycle under way then goes on to
its end. SIGTERM and SIGINT end the process.

Of the simulated kubelets it asks one JSON object on one line, answered by one such line:

| request | answer |
|---|---|
| `{"stop": "node-3"}` | `{"node": {...}}`: it renews nothing any more, as a machine that hangs |
| `{"start": "node-3"}` | `{"node": {...}}`: it goes on, same boot |
| `{"power_cycle": "node-3", "power_off_seconds": 2}` | `{"node": {...}}`, once it runs, on a new boot ID |
| `{"add": "node-x"}` | `{"node": {...}}`: another machine, just booted, unless it is there |
| `{"remove": "node-x"}` | `{"removed": "node-x"}`: a machine that was added is there no more |
| `{"list": true}` | `{"nodes": [{"name": ..., "boot_id": ..., "state": ...}, ...]}` |

Anything else is answered by `{"error": "<field>: <what is wrong with it>, got <value>"}`.
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
from devcluster.simulation.errors import BadRequestError
from devcluster.simulation.power_switch import PowerSwitch
from devcluster.simulation.remediation import Remediation, RemediationRequest
from devcluster.simulation.resources import REQUESTS
from devcluster.simulation.termination import run_until_told_to_end
from devcluster.simulation.work_queue import WorkQueue
from kube.client import Client
from kube.errors import KubernetesError
from kube.record import Change, Key
from kube.reflector import Reflector
from kube.transport import Transport

LONGEST_POWER_OFF_SECONDS = 3600
FIELD_MANAGER = "demo-remediator"


class RemediationQueue:
    """Runs `work(key)` in `tasks`, at most once at a time for each request."""

    def __init__(self, work: Callable[[Key], Awaitable[None]], tasks: asyncio.TaskGroup) -> None:
        self._queue = WorkQueue("request", work, tasks)

    def notice(self, change: Change[RemediationRequest]) -> None:
        """Take up a request that appeared or changed, unless it is over."""
        if change.new is not None and not change.new.is_over:
            self._queue.add(change.key)


NodeName = Annotated[str, Field(min_length=1)]


class Request(BaseModel):
    """A request, unchangeable and without fields we do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Stop(Request):
    """Stop a kubelet, as if its machine hung."""

    stop: NodeName


class Start(Request):
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
    """Take away a machine that was added; its Node is left to whoever asks."""

    remove: NodeName


class ListNodes(Request):
    """Tell the state of every machine."""

    list: Literal[True]


AnyRequest = Stop | Start | PowerCycle | Add | Remove | ListNodes
KINDS: dict[str, type[AnyRequest]] = {
    "stop": Stop,
    "start": Start,
    "power_cycle": PowerCycle,
    "add": Add,
    "remove": Remove,
    "list": ListNodes,
}


def parse(fields: Any) -> AnyRequest:  # noqa: ANN401  whatever JSON a client sent
    """Read a request from decoded JSON; raises BadRequestError with the field and its value."""
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
