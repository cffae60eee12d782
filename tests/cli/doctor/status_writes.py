"""A MachineHealthCheck whose status has two writers: Paramedic and another controller."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.client import Client
from kube.resource import Object, resource_of
from kube.transport import Transport

MACHINE_CHECKS = resource_of(MACHINE_HEALTH_CHECK)
OURS, THEIRS = "paramedic-detector", "machine-healthcheck"


@asynccontextmanager
async def new_check(transport: Transport) -> AsyncIterator[str]:
    """The name of a check in the namespace default, whose status we have written.

    The first writer of a status owns the field `status` itself, so its entry is never erased.
    """
    client = Client(transport)
    name = f"doctor-{uuid4().hex[:8]}"
    condition = {"type": "Ready", "status": "False", "timeout": "300s"}
    body: Object = {
        "apiVersion": MACHINE_CHECKS.api_version,
        "kind": MACHINE_CHECKS.kind,
        "metadata": {"name": name},
        "spec": {"unhealthyConditions": [condition], "selector": {"matchLabels": {"nobody": name}}},
    }
    await client.create(MACHINE_CHECKS, body, "default")
    await write_status(transport, OURS, name, healthy=3)
    yield name
    await client.delete(MACHINE_CHECKS, name, "default")


async def write_status(transport: Transport, manager: str, name: str, healthy: int) -> None:
    """As a controller of that name would."""
    status = {"status": {"currentHealthy": healthy}}
    await Client(transport, manager).merge_patch(MACHINE_CHECKS, name, status, "default", "status")


async def next_second() -> None:
    """Wait for the next second: the API server records write times in whole seconds."""
    before = int(time.time())
    while int(time.time()) == before:  # noqa: ASYNC110  nothing signals it
        await asyncio.sleep(0.02)
