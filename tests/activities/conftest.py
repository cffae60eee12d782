from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from devcluster.control_plane import ControlPlane
from health.model.references import RequestReference
from kube.client import Client
from kube.transport import Transport
from tests.activities.machine_world import CONFIG_MAPS, MachineWorld
from tests.activities.worker_activities import WorkerActivities
from tests.activities.world import NAMESPACE, World


@pytest.fixture(scope="package")
async def administrator(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    """A shared connection: opening one takes as long as an act."""
    async with await Transport.connect(str(control_plane.kubeconfig)) as transport:
        yield transport


@pytest.fixture
async def world(administrator: Transport) -> AsyncIterator[World]:
    """An unhealthy node with check and template, created with the rights of an administrator."""
    world = World(Client(administrator), f"test-{uuid4().hex[:8]}")
    await world.make()
    yield world
    await world.remove()


@pytest.fixture
async def config_map(world: World) -> AsyncIterator[RequestReference]:
    """An object that the worker may neither write nor delete."""
    body = {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": {"name": world.name}}
    created = await world.client.create(CONFIG_MAPS, body, NAMESPACE)
    uid = created["metadata"]["uid"]
    yield RequestReference(api_version="v1", kind="ConfigMap", namespace=NAMESPACE, name=world.name, uid=uid)
    await world.client.delete(CONFIG_MAPS, world.name, NAMESPACE)


@pytest.fixture
async def machine_world(administrator: Transport) -> AsyncIterator[MachineWorld]:
    """An unhealthy Machine with its Node and its check, created with the rights of an administrator."""
    world = MachineWorld(Client(administrator), f"test-{uuid4().hex[:8]}")
    await world.make()
    yield world
    await world.remove()


@pytest.fixture(scope="package")
async def worker_transport(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    """A shared connection with the rights of the worker."""
    async with await Transport.connect(str(control_plane.worker_kubeconfig)) as transport:
        yield transport


@pytest.fixture
def worker(worker_transport: Transport) -> WorkerActivities:
    """The activities with the rights of the worker."""
    return WorkerActivities(worker_transport)


@pytest.fixture
def admin_worker(administrator: Transport) -> WorkerActivities:
    """The activities with the rights of an administrator."""
    return WorkerActivities(administrator)


@pytest.fixture
async def worker_in_the_dark(tmp_path: Path) -> AsyncIterator[WorkerActivities]:
    """The activities with an unreachable API server."""
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    body = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}]}
    kubeconfig.write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", **body})
    )
    async with await Transport.connect(str(kubeconfig)) as transport:
        yield WorkerActivities(transport)
