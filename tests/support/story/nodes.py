"""The Nodes of one test, as their kubelets and their administrator change them."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from kube.client import Client
from kube.resource import NODES, Object


class Nodes:
    """Nodes with the test's name as prefix and as the value of their label `test`."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self.nodes: list[str] = []

    async def add_nodes(self, count: int, *, ready: str = "True") -> list[str]:
        """Add healthy nodes that the check of this test selects."""
        names = [f"{self.name}-{number}" for number in range(len(self.nodes), len(self.nodes) + count)]
        await asyncio.gather(*(self._add_node(name, ready) for name in names))
        self.nodes += names
        return names

    async def add_named_nodes(self, *suffixes: str) -> dict[str, str]:
        """Add healthy nodes; return their names by these suffixes, which say what each is for."""
        names = {suffix: f"{self.name}-{suffix}" for suffix in suffixes}
        await asyncio.gather(*(self._add_node(name, "True") for name in names.values()))
        self.nodes += names.values()
        return names

    async def _add_node(
        self, name: str, ready: str, since: datetime | None = None, labels: dict[str, str] | None = None
    ) -> None:
        conditions = [_condition("Ready", ready, since or datetime.now(UTC))]
        metadata = {"name": name, "labels": {"test": self.name} | (labels or {})}
        await self.client.create(NODES, {"metadata": metadata, "status": {"conditions": conditions}})

    async def set_ready(self, node: str, status: str, since: datetime | None = None) -> None:
        """Set the Ready condition of a node, as of `since` or now."""
        await self.set_conditions(node, {"Ready": (status, since or datetime.now(UTC))})

    async def set_conditions(self, node: str, conditions: dict[str, tuple[str, datetime]]) -> None:
        body = [_condition(type_, status, since) for type_, (status, since) in conditions.items()]
        patch = {"status": {"conditions": body}}
        await self.client.merge_patch(NODES, node, patch, subresource="status")

    async def set_boot_id(self, node: str, boot_id: str) -> None:
        """Set the boot ID, as the kubelet does after a boot."""
        patch = {"status": {"nodeInfo": {"bootID": boot_id}}}
        await self.client.merge_patch(NODES, node, patch, subresource="status")

    async def set_label(self, node: str, key: str, value: str | None) -> None:
        """Set a label of a node; None removes it."""
        await self.client.merge_patch(NODES, node, {"metadata": {"labels": {key: value}}})

    async def set_annotation(self, node: str, key: str, value: str | None) -> None:
        """Set an annotation of a node; None removes it."""
        await self.client.merge_patch(NODES, node, {"metadata": {"annotations": {key: value}}})

    async def fail(self, *nodes: str) -> None:
        """Fail nodes at one moment: their durations end together, in any order of the patches."""
        since = datetime.now(UTC)
        await asyncio.gather(*(self.set_ready(node, "Unknown", since) for node in nodes))

    async def recover(self, *nodes: str) -> None:
        await asyncio.gather(*(self.set_ready(node, "True") for node in nodes))

    @asynccontextmanager
    async def flapping(self, *nodes: str) -> AsyncIterator[None]:
        """Change nodes as often as a controller could that always conflicts with another writer."""
        writers = [asyncio.create_task(self._flap(node)) for node in nodes]
        try:
            yield
        finally:
            for writer in writers:
                writer.cancel()
                with suppress(asyncio.CancelledError):
                    await writer

    async def _flap(self, node: str) -> None:
        for number in itertools.count():
            await self.set_label(node, "flaps", str(number))

    async def delete_node(self, node: str) -> None:
        await self.client.delete(NODES, node)

    async def recreate_node(self, node: str, *, ready: str) -> None:
        """Replace a node by another of the same name."""
        await self._add_node(node, ready)

    async def replace_by_failed(self, node: str, since: datetime) -> None:
        """Replace a node by one that is unhealthy since then, with the same labels.

        A detector believes an early time only of a node that it has not seen healthy.
        """
        labels = (await self.client.get(NODES, node))["metadata"]["labels"]
        await self.delete_node(node)
        await self._add_node(node, "Unknown", since, labels)


def _condition(type_: str, status: str, since: datetime) -> Object:
    time = since.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": type_, "status": status, "lastTransitionTime": time, "lastHeartbeatTime": time}
