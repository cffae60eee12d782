"""Prepares etcd data with everything installed; control planes of tests start on a copy of it.

Installing takes as long as starting the servers. The first process of a run that needs a copy prepares the
data for all.
"""

import asyncio
import fcntl
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from devcluster import assets, control_plane, manifests
from devcluster.control_plane import ControlPlane
from devcluster.layout import Layout
from devcluster.polling import until
from devcluster.simulation.resources import DEFINITIONS
from kube.client import Client
from kube.errors import TooManyRequests
from kube.resource import Object, Resource
from kube.transport import Transport
from tests.support.api.ports import own_layout

PATIENCE = timedelta(seconds=60)


async def prepare(directory: Path) -> Path:
    """Prepare the etcd data once, in a directory that all processes of the run share."""
    made = directory / "prepared"
    with (directory / "prepared.lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if not made.exists():
            (await _install(directory / "preparing")).rename(made)
    return made


async def _install(directory: Path) -> Path:
    layout = own_layout(directory)
    async with control_plane.control_plane(layout, assets.find()) as running:
        await manifests.install(running.kubeconfig)
    return layout.etcd_data


def put(prepared: Path, layout: Layout) -> None:
    """Copy the etcd data for the control plane that will start on `layout`."""
    shutil.copytree(prepared, layout.etcd_data)


@asynccontextmanager
async def installed_control_plane(prepared: Path, directory: Path) -> AsyncIterator[ControlPlane]:
    """Run a control plane that has everything installed; it is ready in the block and stopped after it."""
    layout = own_layout(directory)
    put(prepared, layout)
    async with control_plane.control_plane(layout, assets.find()) as running:
        await until_served(running)
        yield running


async def until_served(running: ControlPlane) -> None:
    """Wait until all custom resources can be listed: a new API server first answers them with 429."""
    async with await Transport.connect(str(running.kubeconfig)) as transport:
        client = Client(transport)

        async def are_served() -> bool:
            try:
                for definition in await client.list(DEFINITIONS):
                    for resource in _resources(definition):
                        await client.list(resource)
            except TooManyRequests:
                return False
            return True

        await until(are_served, within=PATIENCE, otherwise="not all custom resources are served")


def _resources(definition: Object) -> Iterator[Resource]:
    spec = definition["spec"]
    for version in spec["versions"]:
        if version["served"]:
            api_version, names = f"{spec['group']}/{version['name']}", spec["names"]
            namespaced = spec["scope"] == "Namespaced"
            yield Resource(api_version, names["kind"], names["plural"], namespaced=namespaced)
