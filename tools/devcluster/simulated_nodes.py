"""Waits until the simulated nodes exist: the kubelets answer, each has a Node, the programs run."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from devcluster.errors import ControlUnavailableError
from devcluster.layout import Layout
from devcluster.simulation.control_socket import send_request
from devcluster.supervisor import Supervisor
from health.model.node import Node
from kube.reflector import Change, Reflector
from kube.resource import NODES
from kube.transport import Transport

PATIENCE = timedelta(seconds=60)
PATIENCE_PER_NODE = timedelta(seconds=0.05)
ANSWER_WITHIN = timedelta(seconds=5)


async def until_there(
    supervisor: Supervisor, layout: Layout, kubeconfig: Path, count: int, programs: Collection[str]
) -> None:
    """Return when all `count` nodes exist and `programs` run.

    It does not wait for nodes whose kubelet a person stopped, but for nodes that were added in an earlier
    run. Raises NotReadyError and HopelessError.
    """
    async with await Transport.connect(str(kubeconfig)) as transport:
        nodes = Reflector(transport, NODES, Node, notify=_ignore)
        watch = asyncio.create_task(nodes.run())

        async def there() -> bool:
            if not nodes.synced or any(name not in supervisor.pids for name in programs):
                return False
            expected = await _expected(layout.kubelets_socket)
            there = {key.name for key in (*nodes.store, *nodes.undecodable)}
            return expected is not None and expected <= there

        try:
            within = PATIENCE + count * PATIENCE_PER_NODE
            sentence = f"not all simulated nodes appear: see why in {layout.log('kubelets')}"
            await supervisor.until(there, within=within, otherwise=sentence)
        finally:
            watch.cancel()
            await asyncio.wait([watch])


async def _expected(control: Path) -> set[str] | None:
    """The nodes whose kubelets should run; None while the control socket does not answer."""
    try:
        async with asyncio.timeout(ANSWER_WITHIN.total_seconds()):
            answer = await send_request(control, {"list": True})
    except (ControlUnavailableError, TimeoutError):
        return None
    return {node["name"] for node in answer["nodes"] if node["state"] != "stopped"}


def _ignore(_: Change[Node]) -> None:
    pass
